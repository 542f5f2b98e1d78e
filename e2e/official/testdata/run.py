"""Runs the official tool runner of Python at its defaults; the argument "streamed" streams."""

import sys

from anthropic import Anthropic, beta_tool


@beta_tool
def get_weather(city: str) -> str:
    """Weather in a city.

    Args:
        city: the city
    """
    if city != "Tromsø":
        raise ValueError("no such city")
    return "9 degrees"


@beta_tool
def add(a: int, b: int) -> str:
    """Adds two numbers.

    Args:
        a: the first
        b: the second
    """
    return str(a + b)


streamed = sys.argv[1] == "streamed"
client = Anthropic(api_key="none", max_retries=0)  # ANTHROPIC_BASE_URL is in the environment
runner = client.beta.messages.tool_runner(
    model="claude-sonnet-5-5",
    max_tokens=100,
    tools=[get_weather, add],
    messages=[{"role": "user", "content": "How warm is it, and how much is that?"}],
    stream=streamed,
)
message = None
for turn in runner:
    message = turn.get_final_message() if streamed else turn
sys.stdout.buffer.write("".join(b.text for b in message.content if b.type == "text").encode())
