"""Every chart: well-formed, said in words, honest about its numbers, calm about hostile labels."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from report_example import HOSTILE

from salon.errors import BadValue
from salon.report import SMALL, WIDE, Chart, ChartRow, charts, names_beside, standalone_svg, text_width
from salon.report.charts.curves import Dot
from salon.report.svg import NARROW

WIDTHS = (SMALL, NARROW, WIDE)


def drawings(label: str, width: int) -> dict[str, str]:
    """One of each chart with `label` wherever words go."""
    names = [label, "b"]
    return {
        "histogram": charts.histogram_over_null(
            [-0.2, 0, 0.2], [3, 5, 2], [0.3, 0.5, 0.2], title=label, x_label=label, unit=label, keys=True, width=width
        ),
        "pmax": charts.pmax_bars(names, [3, 1], [0.6, 0.4], title=label, unit=label, keys=True, width=width),
        "dots": charts.dot_intervals(
            [(label, 0.1, 0.0, 0.2, label), ("b", 0.3, None, None, "g")], 0.0, [(label, 0.2)], title=label,
            x_label=label, null_label=label, width=width,
        ),
        "heat": charts.heat_map([[None, -0.5], [0.5, 0]], names, names, n=[[0, 9], [9, 8]], title=label, width=width),
        "buckets": charts.bucket_bar([(label, [1, 2])], names, [0.5, 0.5], title=label, null_label=label, width=width),
        "curves": charts.line_curves(
            [charts.Curve(label, [1, 2], [0.1, 0.2], [0, 0.1], [0.2, 0.3])], title=label, x_label=label,
            y_label=label, reference_lines=[(label, 0.15)], width=width,
        ),
        "bars": charts.bar_list([(label, 0.5), ("b", -0.2)], title=label, width=width),
        "caterpillar": charts.caterpillar(
            [charts.ScoreMark(label, 4.1, 3.2, 4.6, 1, True, label), charts.ScoreMark("b", 2.1, tier=11)],
            title=label, x_label=label, left_out=(1, label), special_label=label, width=width,
        ),
        "calibration": charts.calibration_curve(
            1.0, 0.2, [charts.AnchorMark(label, 0.5, 3.9, 3.8, 0.4), charts.AnchorMark("b", -1.0, 1.5, 1.6)], low=1,
            high=5, title=label, x_label=label, y_label=label, width=width,
        ),
        "radar": charts.radar(
            [label, "b", "c"], [charts.Spokes(label, [0.2, None, 1.4]), charts.Spokes("b", [-1.0, 0.5, 0.7])],
            title=label, width=width,
        ),
    }  # fmt: skip


def test_the_name_of_a_reference_stands_over_the_curves():
    curve = charts.Curve("a", [1, 2], [0.1, 0.2])
    drawing = charts.line_curves([curve], reference_lines=[("chance", 0.15)], width=WIDTHS[0])
    assert drawing.index("reference dashed") < drawing.index('class="series-1 curve"') < drawing.index(">chance<")
    assert 'class="reference-label haloed"' in drawing


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("label", [*HOSTILE, "", "Mood", "色の調和" * 20])
def test_charts_are_well_formed_and_inert(label, width):
    for name, svg in drawings(label, width).items():
        root = ElementTree.fromstring(svg)
        assert {e.tag for e in root.iter()} <= {
            "svg", "title", "desc", "g", "rect", "line", "path", "circle", "text",
        }, name  # fmt: skip
        assert not [a for e in root.iter() for a in e.attrib if a.startswith("on") or a in ("href", "style")]


@pytest.mark.parametrize("width", WIDTHS)
def test_charts_speak_to_screen_readers(width):
    for name, svg in drawings("Mood", width).items():
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img", name
        first, second = list(root)[:2]
        assert (first.tag, second.tag) == ("title", "desc")
        assert root.get("aria-labelledby") == f"{first.get('id')} {second.get('id')}"
        assert first.text == "Mood"
        assert len(second.text) > 15


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("label", ["Mood", "a criterion with a very long name that cannot fit anywhere at all " * 2])
def test_text_stays_inside_the_drawing(label, width):
    """Left and right edges; by the generous estimate of text width that the layout itself must respect."""
    for name, svg in drawings(label, width).items():
        for node in ElementTree.fromstring(svg).iter("text"):
            if node.get("transform"):
                continue
            shown = "".join(t for t in [node.text, *(child.tail for child in node)] if t)
            size, x = text_width(shown), float(node.get("x"))
            left = {"middle": x - size / 2, "end": x - size}.get(node.get("text-anchor"), x)
            assert left >= -8, (name, shown)
            assert left + size <= width + 8, (name, shown)


def test_long_labels_are_cut_and_kept_whole_in_their_title():
    label = "extraordinarily long name of a criterion " * 4
    for name in ("dots", "buckets", "bars"):
        svg = drawings(label, WIDE)[name]
        assert "…</text>" in svg
        assert f"<title>{label}</title>" in svg


def test_drawing_redraws_itself_narrower():
    drawing = drawings("Mood", WIDE)["dots"]
    narrow = ElementTree.fromstring(drawing.at(NARROW))
    assert narrow.get("viewBox").startswith(f"0 0 {NARROW} ")
    assert drawing.at(WIDE) is drawing


def test_histogram_bars_are_proportional_to_shares():
    svg = charts.histogram_over_null([0, 1, 2, 3], [10, 30, 40, 20], [0.25] * 4, width=SMALL)
    heights = [float(r.get("height")) for r in ElementTree.fromstring(svg).iter("rect") if "cohort-1" in r.get("class")]
    assert np.allclose(np.array(heights) / heights[0], [1, 3, 4, 2], atol=0.01)


def test_a_shorter_axis_changes_no_share():
    """Cutting the empty tail keeps the null's 30% at 30%: shares are those of the whole."""
    svg = charts.histogram_over_null([0, 1, 2, 3], [4, 6, 0, 0], [0.3, 0.3, 0.2, 0.2], x_range=(0, 1), width=SMALL)
    assert "0.000: 4 prompts (40.0%); null 30.0%" in svg
    assert "null median 1.000" in svg
    assert "2.000:" not in svg


def test_curves_with_long_names_get_a_legend():
    short = charts.line_curves([charts.Curve("5 raters", [1, 2], [0.1, 0.2])])
    long = charts.line_curves(
        [charts.Curve("a name that is far too long for the margin", [1, 2], [0.1, 0.2])], width=NARROW
    )
    assert 'class="series-1-label"' in short
    assert 'class="series-1-label"' not in long
    assert "a name that is far too long for the margin</text>" in long


def test_histogram_medians_by_hand():
    """Counts 4, 1, 0: half of five is reached at the first point. Null .2, .2, .6: half at the third."""
    svg = charts.histogram_over_null([-1, 0, 1], [4, 1, 0], [0.2, 0.2, 0.6], width=SMALL)
    assert "observed median −1.000, null median 1.000" in svg


@settings(max_examples=40)
@given(st.integers(2, 2000), st.integers(0, 2**32 - 1))
def test_histogram_merges_thin_bars_without_losing_anything(points, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 50, points) + 1
    null = rng.dirichlet(np.ones(points))
    svg = charts.histogram_over_null(np.linspace(-0.3, 1, points), counts, null, width=SMALL)
    told = re.findall(r"<title>[^<]*?: ([\d\u202f]+) prompts \(", svg)
    assert len(told) <= SMALL / 4
    assert sum(int(t.replace("\u202f", "")) for t in told) == counts.sum()


def test_dots_are_sorted_and_say_their_numbers():
    rows = [("low", 0.1, 0.05, 0.15, "a"), ("high", 0.3, 0.25, 0.35, "b")]
    svg = charts.dot_intervals(rows, 0.21, [("Sushi", 0.107)])
    assert svg.index("high: 0.30 [0.25, 0.35]") < svg.index("low: 0.10 [0.05, 0.15]")
    assert "null 0.210" in svg
    assert "Sushi 0.107" in svg
    unsorted = charts.dot_intervals(rows, sort=False)
    assert unsorted.index(">low<") < unsorted.index(">high<")


def test_a_caterpillar_shades_every_second_tier_and_says_what_is_left_out():
    tiers = (1, 1, 2, 1, None)
    rows = [charts.ScoreMark(f"item {i}", 4.0 - i, 3.5 - i, 4.5 - i, tier) for i, tier in enumerate(tiers)]
    root = ElementTree.fromstring(charts.caterpillar(rows, left_out=(2, "9 more")))
    bands = [float(r.get("y")) for r in root.iter("rect") if r.get("class") == "tier-band"]
    hits = [float(r.get("y")) for r in root.iter("rect") if r.get("class") == "hit"]
    assert bands == [hits[0], hits[1], hits[3]], "the runs 1, 2, 1: first and third"
    assert [t.text for t in root.iter("text") if t.get("x") == "2"] == ["1", "2", "1"]
    assert "9 more" in [t.text for t in root.iter("text")]
    assert hits[2] - hits[1] > hits[1] - hits[0], "a break before the third row"


def test_a_caterpillar_cuts_at_a_fixed_axis():
    root = ElementTree.fromstring(charts.caterpillar([charts.ScoreMark("a", 9, 2, 12)], x_range=(0, 5)))
    axis = next(line for line in root.iter("line") if line.get("class") == "axis")
    dot = next(root.iter("circle"))
    assert dot.get("cx") == axis.get("x2")


def test_the_calibration_curve_passes_through_its_formula():
    """At latent 0 the score is 1 + 4 / (1 + exp(-b)); with b = 0 that is 3, the middle of the scale."""
    anchor = charts.AnchorMark("a", 0.0, 3.0, 3.0)
    root = ElementTree.fromstring(charts.calibration_curve(2.0, 0.0, [anchor], low=1, high=5, x_range=(-2, 2)))
    paths = {p.get("class"): p.get("d") for p in root.iter("path")}
    points = [tuple(map(float, p.split())) for p in paths["series-1 curve"][1:].split("L")]
    x, top = map(float, paths["cohort-2 dot"][1:].split("L")[0].split())
    assert min(abs(a - x) + abs(b - (top + 5.5)) for a, b in points) < 0.2


def test_heat_map_colours_by_distance_from_the_centre():
    svg = charts.heat_map([[0.2, -0.1], [None, 0.0]], ["a", "b"], ["c", "d"], limit=0.2, key=False)
    cells = [(r.get("class"), float(r.get("fill-opacity"))) for r in ElementTree.fromstring(svg).iter("rect")
             if r.get("class").startswith("heat")]  # fmt: skip
    assert cells == [("heat-above", 1.0), ("heat-below", 0.5), ("heat-above", 0.0)]
    assert "b · c: no value" in svg


def test_a_large_heat_map_drops_its_text_but_not_its_cells():
    size = 90
    names = [f"r{i}" for i in range(size)]
    svg = charts.heat_map(np.zeros((size, size)).tolist(), names, names)
    root = ElementTree.fromstring(svg)
    assert sum(r.get("class") == "heat-above" for r in root.iter("rect")) >= size * size
    (ground,) = [path.get("d") for path in root.iter("path") if path.get("class") == "cell"]
    assert ground.count("M") == size * size
    rows = [float(t.get("y")) for t in root.iter("text") if t.get("text-anchor") == "end" and t.text.startswith("r")]
    assert all(b - a >= 12 for a, b in itertools.pairwise(rows))


def test_buckets_fill_the_whole_width():
    svg = charts.bucket_bar([("a", [5, 3, 2])], ["5–0", "4–1", "3–2"], width=NARROW)
    bars = [r for r in ElementTree.fromstring(svg).iter("rect") if r.get("height") == "23"]
    assert sum(float(r.get("width")) + 1.5 for r in bars) == pytest.approx(NARROW, abs=0.05)
    assert "a, 5–0: 50.0%" in svg


@pytest.mark.parametrize(
    "draw",
    [
        lambda: charts.histogram_over_null([], [], []),
        lambda: charts.histogram_over_null([0, 1], [1], [0.5, 0.5]),
        lambda: charts.histogram_over_null([0, 1], [0, 0], [0.5, 0.5]),
        lambda: charts.histogram_over_null([0, 1], [1, float("nan")], [0.5, 0.5]),
        lambda: charts.histogram_over_null([0, 1], [1, 1], [0.5, 0.5], x_range=(0, 0.5)),
        lambda: charts.histogram_over_null([1, 0], [1, 1], [0.5, 0.5]),
        lambda: charts.pmax_bars(["a"], [1, 2], [1]),
        lambda: charts.dot_intervals([]),
        lambda: charts.dot_intervals([("a", float("nan"), 0, 1, "g")]),
        lambda: charts.heat_map([[1]], ["a", "b"], ["c"]),
        lambda: charts.heat_map([[float("inf")]], ["a"], ["c"]),
        lambda: charts.bucket_bar([], ["a"]),
        lambda: charts.bucket_bar([("a", [0, 0])], ["x", "y"]),
        lambda: charts.line_curves([]),
        lambda: charts.line_curves([charts.Curve("a", [1, 2], [1])]),
        lambda: charts.bar_list([]),
        lambda: charts.caterpillar([]),
        lambda: charts.caterpillar([charts.ScoreMark("a", float("nan"))]),
        lambda: charts.calibration_curve(1, 0, [], low=1, high=5),
        lambda: charts.radar(["a", "b"], [charts.Spokes("x", [1, 0])]),
        lambda: charts.radar(["a", "b", "c"], [charts.Spokes("x", [1, 0])]),
        lambda: charts.radar(["a", "b", "c"], []),
        lambda: charts.radar(["a", "b", "c"], [charts.Spokes("x", [1, 0, 1])] * 7),
    ],
)
def test_bad_input_is_a_named_error(draw):
    with pytest.raises(BadValue):
        draw()


def test_standalone_svg_carries_its_style():
    text = standalone_svg(drawings("Mood", WIDE)["dots"])
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "--cohort-1" in text


def test_ticks_at_the_ends_keep_their_numbers_inside():
    """At 342 pixels an axis ends 8 from the edge, and 1.00 is wider than twice that."""
    drawing = charts.dot_intervals([("a", 0.9, 0.8, 1.0, ""), ("b", 0.5, 0.4, 0.6, "")], within=(0.0, 1.0)).at(342)
    places = [
        (float(x), words) for x, words in re.findall(r'<text x="([\d.]+)"[^>]*class="tick"[^>]*>([^<]+)<', drawing)
    ]
    assert places[-1][1] == "1.0"
    assert all(text_width(words) / 2 <= x <= 342 - text_width(words) / 2 for x, words in places)


def test_names_stand_beside_their_dots_or_not_at_all():
    frame = (0.0, 0.0, 200.0, 100.0)
    high, low = Dot(50, 20, (50, 20, 50, 20)), Dot(50, 80, (50, 80, 50, 80))
    assert None not in names_beside([high, low], ["one", "two"], frame)
    assert names_beside([high], ["a name that is much too long for its frame"], (0.0, 0.0, 60.0, 100.0)) == [None]


def test_a_name_stands_beyond_the_interval_of_its_dot():
    wide = Dot(50, 50, (30, 50, 90, 50))
    (label,) = names_beside([wide], ["one"], (0.0, 0.0, 200.0, 100.0))
    assert float(re.search(r' x="([\d.]+)"', label)[1]) > 90


def test_a_line_at_zero_is_called_zero():
    assert ">even 0<" in charts.dot_intervals([("a", 0.2, 0.1, 0.3, "")], 0.0, null_label="even")


def test_a_small_multiple_that_stands_alone_is_drawn_wide():
    small = Chart(charts.pmax_bars(["3–2"], [3], [1.0], width=SMALL))
    assert f'viewBox="0 0 {WIDE} ' in ChartRow([small]).__html__()
    assert f'viewBox="0 0 {NARROW} ' in ChartRow([small]).__html__()
    assert f'viewBox="0 0 {SMALL} ' in ChartRow([small, small]).__html__()


def test_whole_steps_have_whole_ticks():
    rounds = charts.line_curves([charts.Curve("best", [0, 1, 2], [0.1, 0.2, 0.3])], x_label="round")
    assert re.findall(r'text-anchor="middle">([^<]+)<', rounds) == ["0", "1", "2", "round"]
    shares = charts.line_curves([charts.Curve("best", [0, 0.5, 2], [0.1, 0.2, 0.3])])
    assert ">0.2<" in shares


def test_a_band_is_drawn_as_far_as_there_are_intervals():
    curve = charts.Curve("best", [0, 1, 2, 3], [1, 2, 3, 4], [None, 1.5, 2.5, None], [None, 2.5, 3.5, None])
    drawing = charts.line_curves([curve], x_label="round")
    assert len(re.findall(r'd="M[^"]*Z" class="series-1 band"', drawing)) == 1
    alone = charts.line_curves([charts.Curve("best", [0, 1, 2], [1, 2, 3], [0.5, None, 2.5], [1.5, None, 3.5])])
    assert (alone.count(" band"), alone.count("whisker")) == (0, 2)
    assert "band" not in charts.line_curves([charts.Curve("best", [0, 1], [1, 2], [None, None], [None, None])])


def test_a_curve_is_told_by_whole_steps_and_without_a_name_without_a_colon():
    told = charts.line_curves([charts.Curve("best", [0, 1], [0.1, 0.25])])
    assert "best: 0.250 at 1<" in told
    assert "best: 0.100 at 0, 0.250 at 1." in told
    assert ">0.250 at 1.50<" in charts.line_curves([charts.Curve("", [0, 1.5], [0.1, 0.25])])


def test_what_stands_in_a_cell_is_as_large_as_other_words_or_not_there():
    cells = {n: charts.heat_map([[0.5, 0.1]], ["a"], ["b", "c"], n=[[n, 3]]) for n in (24, 1_234_567)}
    assert ">n 24<" in cells[24]
    assert ">n 1234567<" not in cells[1_234_567]
    assert "n 1234567" in cells[1_234_567], "the tip still holds it"
    assert "font-size" not in cells[24]


@pytest.mark.parametrize("buckets", [1, 2, 3, 5, 7, 11])
def test_no_two_buckets_look_alike(buckets):
    """Twelve raters split in seven ways; where a row lacks one of them, only its shade tells which."""
    names = [f"{2 * buckets - k}–{k}" for k in range(buckets)]
    drawing = charts.bucket_bar([("a", [1] * buckets)], names)
    shades = re.findall(r'class="bucket"[^>]* fill-opacity="([\d.]+)"', drawing)
    assert len(shades) == 2 * buckets  # in the legend and in the row
    assert shades[:buckets] == shades[buckets:]
    assert shades[:buckets] == sorted(set(shades), key=float, reverse=True)


def test_a_radar_has_gaps_where_values_are_missing_and_keeps_to_its_rings():
    svg = charts.radar(["a", "b", "c", "d"], [charts.Spokes("x", [0.5, 1.0, None, 0.0])], width=WIDE)
    drawing = ElementTree.fromstring(svg)
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in drawing.iter("circle")]
    (x, up), (right, level), center = dots
    assert len(dots) == 3
    assert center == (pytest.approx(x), pytest.approx(level))  # a value of 0 lies in the middle
    assert level - up == pytest.approx((right - x) / 2)  # half as far out
    (path,) = (one.get("d") for one in drawing.iter("path") if "curve" in one.get("class"))
    assert path.count("M") == 2  # a to b, and d to a: none through c
    assert "c" not in drawing.find("{*}desc" if svg.startswith("<svg xmlns") else "desc").text.split(":")[1]
    wild = charts.radar(["a", "b", "c"], [charts.Spokes("x", [-2.0, 3.0, 0.5])], width=WIDE)
    known = [float(c.get("cy")) for c in ElementTree.fromstring(wild).iter("circle")]
    assert min(known) > 0
