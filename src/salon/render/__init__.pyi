from .brief import (
    CATEGORIES as CATEGORIES,
    SIZES as SIZES,
    STYLES as STYLES,
    SUBJECTS as SUBJECTS,
    Align as Align,
    Brief as Brief,
    Mood as Mood,
    Place as Place,
    Style as Style,
    Subject as Subject,
)
from .brief_text import (
    LABELS as LABELS,
    asked_against as asked_against,
    brief_prompt as brief_prompt,
    named_colors as named_colors,
    read_brief as read_brief,
    with_asks as with_asks,
)
from .colors import (
    NAMES as NAMES,
    contrast as contrast,
    difference as difference,
    luminance as luminance,
    mix as mix,
    oklab as oklab,
    parse_color as parse_color,
    to_rgb as to_rgb,
)
from .compose import (
    DrawingHabits as DrawingHabits,
    lay_out as lay_out,
    plan_poster as plan_poster,
)
from .draw import draw_poster as draw_poster
from .layout import (
    DEFECTS as DEFECTS,
    Box as Box,
    DefectKind as DefectKind,
    Element as Element,
    Face as Face,
    Layout as Layout,
    Lettering as Lettering,
)
from .marks import (
    Fill as Fill,
    Glyphs as Glyphs,
    Group as Group,
    Layer as Layer,
    Linear as Linear,
    Mark as Mark,
    Paint as Paint,
    Path as Path,
    Shadow as Shadow,
    Stroke as Stroke,
    Tile as Tile,
)
from .motifs import emblem as emblem
from .motifs.sketch import MotifShape as MotifShape
from .paint.chart import (
    chart_pdf as chart_pdf,
    chart_png as chart_png,
)
from .paint.png import encode_png as encode_png
from .paint.raster import paint_png as paint_png
from .paint.svg import write_svg as write_svg
from .palettes import BY_MOOD as BY_MOOD
from .poster import (
    Poster as Poster,
    layout_json as layout_json,
)
from .quality import (
    WEIGHTS as WEIGHTS,
    true_quality as true_quality,
)
from .random_streams import (
    Seeds as Seeds,
    chance as chance,
)
from .shapes import (
    blob as blob,
    circle as circle,
    ellipse as ellipse,
    joined as joined,
    polygon as polygon,
    polyline as polyline,
    rect as rect,
    ring as ring,
    rounded as rounded,
    sector as sector,
    smooth as smooth,
    star as star,
    swell as swell,
    turn as turn,
)
from .styles.ways import (
    flat as flat,
    rays as rays,
    shape_mark as shape_mark,
)
from .typeset.families import (
    FAMILIES as FAMILIES,
    Family as Family,
)
from .typeset.setting import (
    SetText as SetText,
    TooMuchText as TooMuchText,
    outlines as outlines,
    set_text as set_text,
)
