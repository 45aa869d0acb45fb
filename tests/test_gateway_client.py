"""The anthropic SDK on a link, as a judge uses it."""

import threading

import anthropic
import pytest
from gateway_support import TOOLS, opened, script, user

MESSAGES = [{"role": "user", "content": "Go"}]


def client(link, **options):
    return anthropic.Anthropic(
        api_key="none", base_url="http://gateway", http_client=link.http_client(), **options
    )


def create(api, **more):
    return api.messages.create(model="claude-opus-5-5", max_tokens=100, messages=MESSAGES, **more)


def test_an_answer_with_and_without_a_stream(tmp_path):
    content = [
        {"type": "text", "text": "Ünï"},
        {"type": "tool_use", "name": "Skill", "input": {"skill": "garden:compost"}},
    ]
    with opened(script([{"content": content}], tmp_path)) as link, client(link) as api:
        whole = create(api, tools=TOOLS)
        with api.messages.stream(
            model="claude-opus-5-5", max_tokens=100, messages=MESSAGES, tools=TOOLS
        ) as stream:
            streamed = stream.get_final_message()
    for message in (whole, streamed):
        assert message.content[0].text == "Ünï"
        assert message.content[1].input == {"skill": "garden:compost"}
        assert (message.stop_reason, message.usage.output_tokens) == ("tool_use", 5)


def test_retries_end_as_the_gateway_says(tmp_path):
    turns = [{"error": {"status": 529}, "times": 1}, {"content": "at last"}]
    with opened(script(turns, tmp_path)) as link, client(link, max_retries=2) as api:
        assert create(api).content[0].text == "at last"
        assert link.traffic().requests == 2
    with opened(script([{"error": {"status": 401}}], tmp_path)) as link, client(link, max_retries=5) as api:
        with pytest.raises(anthropic.AuthenticationError, match="rehearsed error 401"):
            create(api)
        assert link.traffic().requests == 1


def test_a_miss_is_not_tried_again(tmp_path):
    with opened(script({"judge": [{"content": "x"}]}, tmp_path), purpose="judge") as link:
        with client(link, max_retries=5) as api:
            create(api)
            with pytest.raises(anthropic.ConflictError, match="judge has 1 turn"):
                api.messages.create(model="m", max_tokens=5, messages=[user("Another")])
        assert link.traffic().requests == 2


def test_a_hang_ends_at_the_clients_timeout(tmp_path):
    with (
        opened(script([{"fault": "hang"}], tmp_path)) as link,
        client(link, max_retries=0, timeout=0.2) as api,
        pytest.raises(anthropic.APITimeoutError),
    ):
        create(api)


@pytest.mark.parametrize("stream", [False, True])
def test_closing_the_link_ends_a_call(stream, tmp_path):
    hang = {"content": "cut", "fault": "hang", "after_events": 3}
    with opened(script([hang], tmp_path)) as link:
        threading.Timer(0.2, link.close).start()
        with client(link, max_retries=0) as api, pytest.raises(Exception, match=r"(?i)connection|broke off"):
            list(create(api, stream=True)) if stream else create(api)


def test_a_drop_is_a_connection_error(tmp_path):
    with (
        opened(script([{"fault": "drop"}], tmp_path)) as link,
        client(link, max_retries=0) as api,
        pytest.raises(anthropic.APIConnectionError),
    ):
        create(api)
