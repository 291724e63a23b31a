"""What Home Assistant would make of MQTT's topics: lines of `TOPIC PAYLOAD` on the standard input, until every entity has shown a value.

Configurations have to keep to models of its schemas that are not Posewire's, and its templates are filled in by the library that it uses.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import jinja2
from ha_mqtt_models_pydantic import parse_component_payload

#: What an entity of a kind may show.
SHOWS = {
    "binary_sensor": re.compile(r"ON|OFF|None"),
    "sensor": re.compile(r"-?\d+(\.\d+)?|None"),
    "event": re.compile(r"\{.*\}"),
}
#: Replaced in 2025.10, and left out by those that know its successor.
FORMER = {"object_id"}


def entity(topic: str, payload: str) -> tuple[str, dict[str, Any]]:
    """An entity's kind and configuration, if Home Assistant would take it."""
    kind = topic.split("/")[1]
    said = json.loads(payload)
    model = parse_component_payload(kind, said)
    unknown = said.keys() - type(model).model_fields.keys() - FORMER
    assert not unknown, f"{topic}: no such keys: {unknown}"
    assert said["default_entity_id"].startswith(f"{kind}."), said
    return kind, said


def main() -> int:
    templates = jinja2.Environment(undefined=jinja2.StrictUndefined)
    entities: dict[str, tuple[str, dict[str, Any]]] = {}
    shown: dict[str, str] = {}
    # What came before its configuration.
    newest: dict[str, str] = {}
    for line in sys.stdin:
        topic, _, payload = line.rstrip("\n").partition(" ")
        if topic.startswith("homeassistant/") and not payload:
            # So an entity is removed.
            entities.pop(topic, None)
        elif topic.startswith("homeassistant/"):
            entities[topic] = entity(topic, payload)
        else:
            newest[topic] = payload
        for name, (kind, config) in entities.items():
            told = newest.get(config["state_topic"])
            if told is None:
                continue
            value = templates.from_string(config["value_template"]).render(value_json=json.loads(told))
            assert SHOWS[kind].fullmatch(value), f"{name} shows {value!r} of {told}"
            if kind == "event":
                assert json.loads(value)["event_type"] in config["event_types"], value
            shown[name] = value
        if len(entities) >= 6 and entities.keys() == shown.keys():
            break
    missing = entities.keys() - shown.keys()
    assert len(entities) >= 6 and not missing, f"{len(entities)} entities, of which nothing shows {missing}"
    print(f"{len(entities)} entities: {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
