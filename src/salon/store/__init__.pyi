from .append_log import (
    AppendLog as AppendLog,
    log_files as log_files,
    log_lines as log_lines,
)
from .atomic_files import (
    PART as PART,
    held as held,
    present_folder as present_folder,
    put_file as put_file,
    read_json as read_json,
    sync_folder as sync_folder,
    wait_turn as wait_turn,
    whole_file as whole_file,
    whole_folder as whole_folder,
    write_json as write_json,
)
from .data_card import escape_md as escape_md
from .database.answers import STOPPED as STOPPED
from .database.arena import (
    OVERLAP_MS as OVERLAP_MS,
    VOTE_COLUMNS as VOTE_COLUMNS,
    ArenaVoter as ArenaVoter,
    Ballot as Ballot,
    Limit as Limit,
    NewBallot as NewBallot,
    StoredBoard as StoredBoard,
    TooFrequent as TooFrequent,
)
from .database.connection import (
    AlreadyAnswered as AlreadyAnswered,
    BadLink as BadLink,
    DatabaseError as DatabaseError,
    KeyReused as KeyReused,
    LostConnection as LostConnection,
    NoStudy as NoStudy,
    NotActive as NotActive,
    NothingToUndo as NothingToUndo,
    NotYours as NotYours,
    TasksMoved as TasksMoved,
    Unavailable as Unavailable,
    now_ms as now_ms,
)
from .database.coordination import listen_for_news as listen_for_news
from .database.database import (
    Database as Database,
    open_database as open_database,
    restore as restore,
)
from .database.records import (
    KIND_OF as KIND_OF,
    AuditLine as AuditLine,
    LinkHolder as LinkHolder,
    NewTask as NewTask,
    OtherAnswer as OtherAnswer,
    RaterTask as RaterTask,
    RaterVisit as RaterVisit,
    SavedSubmission as SavedSubmission,
    StoredAnswer as StoredAnswer,
    StoredRater as StoredRater,
    judged_items as judged_items,
)
from .database.tallies import (
    QuestionHold as QuestionHold,
    StoredTally as StoredTally,
)
from .database.visitors import (
    PanelIds as PanelIds,
    TakenPlace as TakenPlace,
    Visitor as Visitor,
)
from .field_files import (
    FIELD_FILES as FIELD_FILES,
    FieldExport as FieldExport,
    export_field as export_field,
)
from .folder import (
    DATABASE as DATABASE,
    EXPORTS as EXPORTS,
    IMAGES as IMAGES,
    Metadata as Metadata,
    Place as Place,
    default_name as default_name,
    export_study as export_study,
    is_address as is_address,
    is_study as is_study,
    local_path as local_path,
    open_place as open_place,
    open_study as open_study,
    read_metadata as read_metadata,
    save_study as save_study,
    studio_file as studio_file,
    table_files as table_files,
    write_metadata as write_metadata,
    written_inside as written_inside,
)
from .formats import (
    KINDS as KINDS,
    as_format as as_format,
    format_named as format_named,
    import_files as import_files,
    import_form as import_form,
    plugin_formats as plugin_formats,
    read_study as read_study,
    recognize as recognize,
)
from .formats.column_mapping import COLUMNS_GUESSED as COLUMNS_GUESSED
from .formats.files import head_of as head_of
from .formats.hpd import (
    CRITERION as CRITERION,
    PictureFiles as PictureFiles,
)
from .formats.preference_tests import (
    PreferenceTest as PreferenceTest,
    read_preference_test as read_preference_test,
)
from .formats.source import (
    Columns as Columns,
    ImportOptions as ImportOptions,
    Policies as Policies,
)
from .formats.training_pairs import (
    TrainingPairSettings as TrainingPairSettings,
    write_pairs as write_pairs,
)
from .journal import (
    Journal as Journal,
    hold_journal as hold_journal,
    open_journal as open_journal,
    read_journal as read_journal,
)
from .near_pictures import (
    METHOD as METHOD,
    PictureKey as PictureKey,
    content_hash as content_hash,
    near_groups as near_groups,
    nearest as nearest,
    picture_hash as picture_hash,
    picture_key as picture_key,
)
from .nulls import (
    null_for as null_for,
    quick_null as quick_null,
)
from .parquet_table import (
    arrow_file as arrow_file,
    check_rows as check_rows,
)
from .picture_store import (
    PictureStore as PictureStore,
    PicturesUnavailable as PicturesUnavailable,
    picture_store as picture_store,
    sweep_folder as sweep_folder,
)
from .pictures import (
    ENDINGS as ENDINGS,
    MEDIA_TYPES as MEDIA_TYPES,
    Picture as Picture,
    Thumb as Thumb,
    data_url as data_url,
    fit_within as fit_within,
    has_picture as has_picture,
    is_inside as is_inside,
    make_thumbs as make_thumbs,
    open_header as open_header,
    picture_url as picture_url,
    read_bytes as read_bytes,
    read_picture as read_picture,
    size_within as size_within,
    sweep_thumbs as sweep_thumbs,
)
from .plain_files import (
    TABLE_ENDINGS as TABLE_ENDINGS,
    check_target as check_target,
    read_plain as read_plain,
    read_points as read_points,
    read_routes as read_routes,
    write_plain as write_plain,
)
from .tabular_files import (
    TableWriter as TableWriter,
    read_table as read_table,
    write_table as write_table,
)
