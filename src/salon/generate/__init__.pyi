from .curate import (
    TYPED_PROMPT as TYPED_PROMPT,
    read_prompt_argument as read_prompt_argument,
    take_category_turns as take_category_turns,
)
from .folder import files_below as files_below
from .gallery import (
    StudyGallery as StudyGallery,
    study_sheet as study_sheet,
    write_gallery as write_gallery,
)
from .houses import house_generator as house_generator
from .picture_import import (
    ImportedPictures as ImportedPictures,
    import_pictures as import_pictures,
    read_layout as read_layout,
)
from .prompts import (
    builtin_briefs as builtin_briefs,
    read_prompts as read_prompts,
)
from .readiness import (
    ReadySettings as ReadySettings,
    check_ready as check_ready,
)
from .record import (
    GenerateReport as GenerateReport,
    GenerateSettings as GenerateSettings,
    Generation as Generation,
    GenerationFailure as GenerationFailure,
    GenerationProgress as GenerationProgress,
    item_id as item_id,
    layout_beside as layout_beside,
    read_generations as read_generations,
    read_start as read_start,
    start_from_generation as start_from_generation,
)
from .registry import (
    GENERATOR_FORMS as GENERATOR_FORMS,
    CallTerms as CallTerms,
    builtin_generators as builtin_generators,
    house_help as house_help,
    make_generator as make_generator,
    make_generators as make_generators,
)
from .run import (
    GenerationCallback as GenerationCallback,
    GeneratorWithNotes as GeneratorWithNotes,
    Matrix as Matrix,
    generate_items as generate_items,
    judged_items as judged_items,
    request_pictures as request_pictures,
    sort_requests as sort_requests,
)
