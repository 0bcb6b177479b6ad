"""A small, made-up file of every kind: what importers must read, and what fuzzers bend."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

COMPARISONS = """left,right,winner,worker,prompt
fox,owl,left,ann,p1
owl,elk,right,ann,p1
fox,elk,tie,ann,p1
fox,owl,right,bob,p1
owl,elk,both_bad,bob,p1
fox,owl,left,ann,p2
"""
RATINGS = """image,stars,rater,prompt
fox,3,ann,p1
owl,4.5,ann,p1
fox,1,bob,p1
owl,2,bob,p1
"""
RANKINGS_LONG = """item,rank,rater,prompt
fox,1,ann,p1
owl,2,ann,p1
elk,2,ann,p1
fox,3,bob,p1
owl,1,bob,p1
elk,2,bob,p1
"""
RANKINGS_WIDE = """ranking,rater,prompt
fox>owl=elk,ann,p1
owl > elk > fox,bob,p1
"""
PREFLIB = """# FILE NAME: animals.toc
# DATA TYPE: toc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 4
# ALTERNATIVE NAME 1: Fox
# ALTERNATIVE NAME 2: Owl
# ALTERNATIVE NAME 3: Elk
3: 1,2,3
1: 3,{1,2}
"""
PREFLIB_OLD = """3
1,Fox
2,Owl
3,Elk
4,4,2
3,1,2,3
1,3,{1,2}
"""
SUSHI = """4 1
0 4 2 0 1 3
0 4 0 1 2 3
0 4 3 2 1 0
"""
MOVIELENS_U_DATA = "1\t10\t3\t881250949\n1\t11\t5\t881250950\n2\t10\t4\t881250951\n"
MOVIELENS_DAT = "1::10::3::881250949\n1::11::5::881250950\n2::10::4::881250951\n"
MOVIELENS_CSV = "userId,movieId,rating,timestamp\n1,10,3.0,881250949\n1,11,4.5,881250950\n2,10,0.5,881250951\n"
HPDV2_TRAIN = [
    {"prompt": "a red fox", "file_path": ["f1.jpg", "f2.jpg"], "human_preference": [1, 0], "user_hash": "u1"},
    {"prompt": "a red fox", "file_path": ["f2.jpg", "f3.jpg"], "human_preference": [0, 1], "user_hash": "u1"},
]
HPDV2_TEST = [
    {
        "prompt": "a grey owl",
        "image_path": ["o1.jpg", "o2.jpg", "o3.jpg"],
        "rank": [1, 2, 3],
        "raw_annotations": [{"rank": [1, 2, 3], "user_hash": "u1"}, {"rank": [3, 1, 2], "user_hash": "u2"}],
    }
]
HPDV3 = [
    {
        "prompt": "an elk",
        "path1": "e1.jpg",
        "path2": "e2.jpg",
        "confidence": 0.9,
        "choice_dist": [3, 1],
        "model1": "m1",
    },
    {"prompt": "an elk", "path1": "e3.jpg", "path2": "e2.jpg", "confidence": 1.0, "model2": None},
]
PICKAPIC = {
    "caption": ["a red fox", "a red fox", "an owl in snow"],
    "image_0_uid": ["i1", "i2", "i4"],
    "image_1_uid": ["i2", "i3", "i5"],
    "label_0": [1.0, 0.5, 0.0],
    "label_1": [0.0, 0.5, 1.0],
    "has_label": [True, True, True],
    "user_id": [7, 7, 8],
    "model_0": ["m1", "m2", "m1"],
    "model_1": ["m2", "m3", "m2"],
    "jpg_0": [b"\xff\xd8one", b"\xff\xd8two", b"\xff\xd8four"],
}
IMAGEREWARD = [
    {"id": "r1", "prompt": "a fox", "generations": ["a.webp", "b.webp", "c.webp"], "ranking": [2, 1, 2]},
    {"id": "r2", "prompt": "an owl", "generations": ["d.webp", "e.webp"], "ranking": [1, 5]},
]
ARENA = [
    {
        "question_id": "q1",
        "model_a": "m1",
        "model_b": "m2",
        "winner": "model_a",
        "judge": "u1",
        "turn": 1,
        "tstamp": 1.5,
    },
    {"question_id": "q1", "model_a": "m2", "model_b": "m3", "winner": "tie (bothbad)", "judge": "u1", "turn": 1},
    {"question_id": "q2", "model_a": "m1", "model_b": "m2", "winner": "tie", "judge": "u2", "turn": 2},
]
ARENA_KAGGLE = """id,model_a,model_b,prompt,winner_model_a,winner_model_b,winner_tie
1,m1,m2,"[""hello""]",1,0,0
2,m2,m3,"[""why?""]",0,0,1
"""
ARENA_LOG = [
    {"tstamp": 1.0, "type": "chat", "model": "m1"},
    {"tstamp": 2.0, "type": "leftvote", "models": ["m1", "m2"], "ip": "x"},
    {"tstamp": 3.0, "type": "bothbad_vote", "models": ["m2", "m3"], "ip": "y"},
]
GENAI_BENCH = """idx,prompt,human_vote,judge-x,judge-y
0,a red fox,leftvote,[[A>B]],
1,"an owl, at night",bothbad_vote,[[A=B=Bad]],[[B>A]]
2,an elk,tievote,[[maybe]],[[ A=B=Good ]]
"""
GENAI_BENCH_JUDGE = [
    {"idx": 0, "prompt": "a red fox", "response": "A.", "model_vote": "[[A>B]]", "human_vote": "leftvote"},
    {"idx": 1, "prompt": "an owl", "response": "Hm.", "model_vote": "", "human_vote": "rightvote"},
]
LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"prompt": "a red fox", "image1": "fox-1.png", "image2": "fox-2.png"},
        "annotations": [
            {
                "completed_by": 5,
                "lead_time": 4.25,
                "created_at": "2024-01-02T03:04:05Z",
                "was_cancelled": False,
                "result": [
                    {"from_name": "pw", "to_name": "image1,image2", "type": "pairwise", "value": {"selected": "left"}},
                    {"from_name": "stars", "to_name": "image1", "type": "rating", "value": {"rating": 4}},
                ],
            },
            {
                "completed_by": {"id": 6, "email": "bob@example.org"},
                "result": [
                    {"from_name": "pw", "to_name": "image1,image2", "type": "choices", "value": {"choices": ["Tie"]}},
                    {"from_name": "rank", "to_name": "list", "type": "ranker", "value": {"ranker": ["y", "x"]}},
                ],
            },
            {"completed_by": 7, "was_cancelled": True, "result": []},
        ],
    }
]
ARGILLA = [
    {
        "id": "r1",
        "fields": {"prompt": "a red fox", "response-1": "one", "response-2": "two"},
        "metadata": {},
        "responses": {
            "preference": [{"value": "response_1", "user_id": "u1"}, {"value": "tie", "user_id": "u2"}],
            "order": [
                {"value": [{"value": "response-2", "rank": 1}, {"value": "response-1", "rank": 2}], "user_id": "u1"}
            ],
            "quality": [{"value": 4, "user_id": "u1"}],
        },
        "suggestions": {"preference": {"value": "response-2", "score": 0.7, "agent": "judge-x"}},
        "vectors": {},
    }
]
DSG = """dsg_prompt_split,t2i_model,item_id,source_id,worker_id,question,answer
tifa160,m1,t_1,s_1,501,How consistent is it?,3
tifa160,m2,t_1,s_1,501,How consistent is it?,5
tifa160,m1,t_1,s_1,502,How consistent is it?,2
tifa160,m2,t_1,s_1,502,How consistent is it?,4
"""
IMAGENHUB = "uid\tM1\tM2\nsample_0.jpg\t[1,0.5]\t[0.5, 1]\nsample_1.jpg\t[0,0]\t[1,1]\n"
PWCMP = """observer,session_id,scene,condition_A,condition_B,is_A_selected,criterion
o1,1,window,m1,m2,1,quality
o1,1,window,m2,m3,0,quality
o2,2,door,m1,m2,0,quality
"""


def as_json(records: list[dict[str, Any]]) -> bytes:
    """A JSON list."""
    return json.dumps(records, indent=1).encode()


def as_lines(records: list[dict[str, Any]]) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def as_parquet(columns: dict[str, list[Any]]) -> bytes:
    """A Parquet file."""
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


FILES: dict[tuple[str, str], Callable[[], bytes]] = {
    ("comparisons", "votes.csv"): COMPARISONS.encode,
    ("comparisons", "votes.tsv"): COMPARISONS.replace(",", "\t").encode,
    ("ratings", "scores.csv"): RATINGS.encode,
    ("rankings", "long.csv"): RANKINGS_LONG.encode,
    ("rankings", "wide.csv"): RANKINGS_WIDE.encode,
    ("preflib", "animals.toc"): PREFLIB.encode,
    ("preflib", "old.toc"): PREFLIB_OLD.encode,
    ("sushi", "sushi.order"): SUSHI.encode,
    ("movielens", "u.data"): MOVIELENS_U_DATA.encode,
    ("movielens", "ratings.dat"): MOVIELENS_DAT.encode,
    ("movielens", "ratings.csv"): MOVIELENS_CSV.encode,
    ("hpdv2", "train.json"): lambda: as_json(HPDV2_TRAIN),
    ("hpdv2", "test.json"): lambda: as_json(HPDV2_TEST),
    ("hpdv3", "all.json"): lambda: as_json(HPDV3),
    ("pickapic", "part.parquet"): lambda: as_parquet(PICKAPIC),
    ("imagereward", "imagereward.json"): lambda: as_json(IMAGEREWARD),
    ("arena", "battles.json"): lambda: as_json(ARENA),
    ("arena", "kaggle.csv"): ARENA_KAGGLE.encode,
    ("arena", "log.jsonl"): lambda: as_lines(ARENA_LOG),
    ("genai-bench", "votes-and-judges.csv"): GENAI_BENCH.encode,
    ("genai-bench", "judge-z.jsonl"): lambda: as_lines(GENAI_BENCH_JUDGE),
    ("label-studio", "export.json"): lambda: as_json(LABEL_STUDIO),
    ("argilla", "records.json"): lambda: as_json(ARGILLA),
    ("dsg", "likert.csv"): DSG.encode,
    ("imagenhub", "T2I_rater1.tsv"): IMAGENHUB.encode,
    ("pwcmp", "tmo.csv"): PWCMP.encode,
}


def write(folder: Path, name: str, content: bytes | str) -> Path:
    """A file with this content."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
