"""A board as a static site: pages that need no server, no network and, to be read, no JavaScript."""

from salon.bench.site.build import Site, build_site

__all__ = ["Site", "build_site"]
