"""The cards repeat what the sections say."""

from __future__ import annotations

from types import SimpleNamespace

from gramian.reporting.report import summary
from gramian.reporting.sections.summary import findings
from gramian.reporting.values import p_words


def test_cards_are_read_off_the_sections(whole: dict) -> None:
    cards = {card["label"]: card for card in findings(whole)}
    assert cards["rows read"]["value"] == "6,000"
    assert cards["rows with values never seen"]["value"] == "3"
    assert cards["strongest column"]["value"] == whole["ranking"]["columns"][0]["column"]
    assert cards["AUC of Fisher's axis"]["value"] == f"{whole['classes']['confusion']['auc']:.3f}"
    assert cards["odd rows"]["value"] == str(whole["anomalies"]["above"])
    assert whole["findings"] == list(cards.values())


def test_cards_of_objects_speak_of_their_distances(words: SimpleNamespace) -> None:
    cards = {card["label"]: card["value"] for card in summary(words.mds)["findings"]}
    assert cards == {"objects": "60", "stress": f"{words.mds.stress_:.3f}"}
    found = summary(words.fda)
    cards = {card["label"]: card["value"] for card in found["findings"]}
    assert cards["objects recognised"] == f"{found['objects']['held_out']:.0%}"
    assert cards["classes apart"].endswith("x")


def test_a_p_value_too_small_for_a_double_is_said_to_be_below_it() -> None:
    assert p_words(1e-310) == "< 1e-300"
