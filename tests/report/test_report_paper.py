"""Charts as figures of a paper: data, SVG without a style sheet, PDF, PNG, and the flag that writes them."""

from __future__ import annotations

import csv
import io
import json
import re
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from missing_parts import remove_modules
from PIL import Image
from report_example import report
from test_report_charts import drawings

from salon.bench import write_figures
from salon.cli.main import salon
from salon.errors import BadFile
from salon.report import ONE_COLUMN, TWO_COLUMNS, Chart, ChartRow, Details, Page, Section, charts, paper_figures

SVG = "{http://www.w3.org/2000/svg}"
ATTRIBUTES = {
    "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "d", "width", "height", "transform", "text-anchor", "fill",
    "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
    "stroke-linejoin", "font-size", "font-weight", "font-family", "viewBox",
}  # fmt: skip


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def shown(svg: str) -> set[str]:
    """Everything written in a drawing."""
    return {"".join(node.itertext()) for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")}


@pytest.fixture(scope="module")
def page(document) -> Page:
    return report(document)


def test_every_chart_knows_its_numbers():
    """Each number written beside a mark comes out of the data, rounded as it is written."""
    for name, drawing in drawings("Mood", 840).items():
        rows = rows_of(Chart(drawing).csv)
        assert rows, name
        held = {float(cell) for row in rows for cell in row.values() if re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell or "")}
        known = {f"{number * by:.{digits}f}" for number in held for digits in range(4) for by in (1, 100)}
        for node in ElementTree.fromstring(drawing).iter("text"):
            if node.get("class", "").split()[0] in ("value", "on-bucket", "on-bar", "on-heat"):
                words = "".join(node.itertext()).replace("\u2212", "-")
                assert set(re.findall(r"\d+\.?\d*", words)) <= {k.lstrip("-") for k in known}, (name, words)


@pytest.mark.parametrize("label", ["Mood", "</svg><script>1</script>", 'a,b\n"c"\x00=1+1', "色の調和"])
@pytest.mark.parametrize("millimeters", [ONE_COLUMN, TWO_COLUMNS])
def test_files_need_no_style_sheet(label, millimeters):
    sections = [Section(name, [Chart(drawing)]) for name, drawing in drawings(label, 840).items()]
    for section, figure in zip(sections, paper_figures(sections), strict=True):
        text = figure.svg(millimeters)
        root = ElementTree.fromstring(text)
        assert root.get("width") == f"{millimeters}mm"
        assert "var(" not in text
        for node in root.iter():
            assert set(node.attrib) <= ATTRIBUTES, section.title
            for paint in ("fill", "stroke"):
                assert re.fullmatch("none|#[0-9a-f]{6}", node.get(paint, "none")), section.title
        marks = [node for node in root.iter() if node.tag.removeprefix(SVG) in ("circle", "rect", "path", "line")]
        assert all(node.get("fill") or node.get("stroke") for node in marks), section.title
        assert shown(text) == shown(figure.drawing.at(millimeters * 4 - 8)) - {""} or "…" in "".join(shown(text))


def test_text_with_a_halo_is_written_after_it():
    """Programs without paint-order would draw the halo over the letters."""
    chart = charts.dot_intervals([("Mood", 0.5, 0.4, 0.6, "")], 0.0)
    root = ElementTree.fromstring(paper_figures([Section("", [Chart(chart)])])[0].svg(ONE_COLUMN))
    halo, words = [node for node in root.iter(f"{SVG}text") if node.text == "Mood"]
    assert (halo.get("fill"), halo.get("stroke"), words.get("stroke")) == ("none", "#ffffff", None)


def test_charts_are_found_in_rows_and_folds_with_their_keys_and_names_of_their_own():
    chart = charts.bar_list([("a", 1.0)], title="Same")
    blocks = [
        Chart(chart),
        ChartRow([Chart(chart, heading="first"), Chart(chart, "own")], "for both", legend=[("cohort-2", "a key")]),
        Details("more", [Chart(chart)]),
    ]
    found = paper_figures([Section("", blocks)])
    assert [figure.name for figure in found] == ["same", "first-same", "same--2", "same--3"]
    assert [figure.caption for figure in found] == ["", "first for both", "own", ""]
    assert ["a key" in figure.svg(ONE_COLUMN) for figure in found] == [False, True, True, False]


def test_figures_are_files_that_open(page, tmp_path):
    written = write_figures([page.sections[1], page.sections[3]], tmp_path / "figures")
    told = json.loads((written.folder / "figures.json").read_text())["figures"]
    assert written.figures == len(told) == 2
    assert len(list(written.folder.iterdir())) == 7 * len(told) + 1
    for figure in told:
        for millimeters in (ONE_COLUMN, TWO_COLUMNS):
            stem = written.folder / f"{figure['name']}-{millimeters}mm"
            with Image.open(stem.with_suffix(".png")) as image:
                image.load()
                assert image.width == round(millimeters / 25.4 * 300)
                assert image.getpixel((0, 0)) == (255, 255, 255)
                assert len(image.getcolors(1 << 20)) > 8
                height = image.height
            pdf = stem.with_suffix(".pdf").read_bytes()
            assert pdf.startswith(b"%PDF")
            assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
            box = [float(part) for part in re.search(rb"/MediaBox\s*\[([^]]*)\]", pdf)[1].split()]
            assert box[2:] == pytest.approx([millimeters / 25.4 * 72, height / 300 * 72], abs=0.5)
            assert ElementTree.parse(stem.with_suffix(".svg")).getroot().tag == f"{SVG}svg"
        assert rows_of((written.folder / f"{figure['name']}.csv").read_text())


def test_figures_replace_only_figures(page, tmp_path):
    write_figures(page.sections[1:2], tmp_path / "figures")
    write_figures(page.sections[1:2], tmp_path / "figures")
    (tmp_path / "notes.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(BadFile, match="earlier figures"):
            write_figures(page.sections[1:2], place)


def test_without_the_painter_svg_and_data_are_written(page, tmp_path, monkeypatch):
    remove_modules(monkeypatch, "generate", "salon.render.paint.chart")
    written = write_figures(page.sections[1:2], tmp_path / "figures")
    assert "salon[generate]" in written.words
    assert {path.suffix for path in written.folder.iterdir()} == {".svg", ".csv", ".json"}


def test_every_chart_of_a_page_can_be_saved(page):
    html = page.html()
    drawn = html.count('<svg class="chart"') - html.count('<div class="drawing for-narrow">')
    assert html.count('<figure class="saveable"') == drawn == len(paper_figures(page.sections))


def commands(group, path=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield (*path, name), command
        if hasattr(command, "list_commands"):
            yield from commands(command, (*path, name))


def test_every_command_with_a_page_writes_figures():
    flags = {path: {flag for option in command.params for flag in option.opts} for path, command in commands(salon)}
    with_pages = {path for path, given in flags.items() if "--html" in given}
    assert len(with_pages) > 8
    always = {("select", "best"), ("select", "gate"), ("select", "cohp"), ("bench", "site")}  # pages without a flag
    assert {path for path in with_pages | always if "--figures" not in flags[path]} == set()


def test_a_command_writes_figures_without_a_page(tmp_path):
    votes = tmp_path / "votes.csv"
    lines = [f"p{n // 4},a,b,{'a' if n % 3 else 'b'},r{n % 4}" for n in range(72)]
    votes.write_text("\n".join(["prompt,left,right,winner,rater", *lines]))
    result = CliRunner().invoke(salon, ["check", str(votes), "--figures", str(tmp_path / "figures"), "--json"])
    assert result.exit_code == 0, result.output
    assert "SVG, PDF, PNG and CSV" in result.stderr
    assert json.loads(result.stdout)["criteria"]
    assert len(list((tmp_path / "figures").glob("*.pdf"))) >= 2
