"""Where a study is kept."""

import pyarrow as pa

from salon.store.folder import (
    EXPORTS,
    Metadata,
    export_study,
    is_study,
    open_study,
    read_metadata,
    save_study,
    write_metadata,
)
from salon.store.table_files import TableWriter, read_table, write_table

# Arrow's own allocator keeps what it freed; the system's gives it back, and a large study needs that room.
pa.set_memory_pool(pa.system_memory_pool())

__all__ = [
    "EXPORTS",
    "Metadata",
    "TableWriter",
    "export_study",
    "is_study",
    "open_study",
    "read_metadata",
    "read_table",
    "save_study",
    "write_metadata",
    "write_table",
]
