from .cache import (
    FileStamp as FileStamp,
    ResultCache as ResultCache,
    cache_file as cache_file,
    file_stamp as file_stamp,
    list_files as list_files,
    model_files as model_files,
)
from .cards import (
    MODEL_CARD as MODEL_CARD,
    ONE_PASS_CARD as ONE_PASS_CARD,
    ROLE as ROLE,
    ROLES as ROLES,
    AnyCard as AnyCard,
    ModelCard as ModelCard,
    ModelCriterion as ModelCriterion,
    ModelScore as ModelScore,
    OnePassCard as OnePassCard,
    PreferenceModel as PreferenceModel,
    Role as Role,
    greedy_answers as greedy_answers,
    is_model as is_model,
    is_one_pass as is_one_pass,
    known_criteria as known_criteria,
    picture_chat as picture_chat,
    read_card as read_card,
    read_model_card as read_model_card,
    read_one_pass_card as read_one_pass_card,
    role_sentence as role_sentence,
    write_one_pass_card as write_one_pass_card,
)
from .clip import (
    BACKEND as BACKEND,
    Clip as Clip,
    ClipCosine as ClipCosine,
    ClipHead as ClipHead,
    CrossClip as CrossClip,
)
from .embedded_networks import (
    EFFNET as EFFNET,
    MINILM as MINILM,
    class_chances as class_chances,
    content_vectors as content_vectors,
    embed_texts as embed_texts,
    sentence_vectors as sentence_vectors,
)
from .embeddings import (
    encode_pictures as encode_pictures,
    encode_texts as encode_texts,
)
from .encoders import (
    Encoder as Encoder,
    EncoderPart as EncoderPart,
    Vectors as Vectors,
    open_encoder as open_encoder,
    picture_parts as picture_parts,
)
from .folder_encoders import ClipEncoder as ClipEncoder
from .hpsv3 import (
    HPSV3_WEIGHTS as HPSV3_WEIGHTS,
    QwenReward as QwenReward,
)
from .hpsv3_plus import (
    ConditionedReward as ConditionedReward,
)
from .imagereward import BlipReward as BlipReward
from .ocr import (
    READER as READER,
    Reading as Reading,
    ReadingLine as ReadingLine,
    remembered_reading as remembered_reading,
)
from .peers import PEERS as PEERS
from .preference_heads import (
    REFERENCES as REFERENCES,
    HeadShape as HeadShape,
    PreferenceHeads as PreferenceHeads,
)
from .preference_model import (
    HeadsModel as HeadsModel,
    load_model as load_model,
    save_heads as save_heads,
)
from .preprocessing import (
    Tensors as Tensors,
    check_tensors as check_tensors,
)
from .reward_heads import (
    REWARD as REWARD,
    Quality as Quality,
    new_reward_head as new_reward_head,
)
from .reward_model import (
    RewardModel as RewardModel,
    log_odds as log_odds,
    save_reward as save_reward,
)
from .reward_network import (
    BACKBONE as BACKBONE,
    CRITERION as CRITERION,
    RewardNetwork as RewardNetwork,
    RewardParts as RewardParts,
    open_parts as open_parts,
)
from .saliency_map import saliency as saliency
from .vlm import (
    ContextTooLong as ContextTooLong,
    LoadedVlm as LoadedVlm,
    Messages as Messages,
    VlmAnswer as VlmAnswer,
    resolve_device as resolve_device,
    vlm_processor as vlm_processor,
)
from .weights import (
    best_device as best_device,
    find_file as find_file,
    fingerprint as fingerprint,
    load_network as load_network,
    model_fingerprint as model_fingerprint,
)
