"""Drives the official MCP client: commands as JSON lines on stdin, events as JSON lines on stdout.

The first argument says which server to start: {command, args, env, cwd, mode}.
Commands: {id, op: tools}, {id, op: call, name, arguments}, {id, op: cancel, call}, {id, op: close}.
"""

import json
import sys

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp import Client
from mcp.client.stdio import StdioServerParameters


def say(event: str, **fields) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


async def call(client: Client, scopes: dict, command: dict) -> None:
    number = command["id"]

    async def progress(done: float, total: float | None, message: str | None) -> None:
        say("progress", id=number, progress=done, message=message)

    with anyio.CancelScope() as scope:
        scopes[number] = scope
        try:
            result = await client.call_tool(
                command["name"], command["arguments"], progress_callback=progress
            )
            dumped = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            say("result", id=number, result=dumped)
        except Exception as error:  # noqa: BLE001 - the test decides what is wrong
            say("error", id=number, error=f"{type(error).__name__}: {error}")
    if scope.cancelled_caught:
        say("cancelled", id=number)


async def serve(client: Client, tasks: TaskGroup) -> None:
    scopes: dict[int, anyio.CancelScope] = {}
    lines = anyio.wrap_file(sys.stdin)
    async for line in lines:
        command = json.loads(line)
        match command["op"]:
            case "tools":
                listed = await client.list_tools()
                names = [tool.name for tool in listed.tools]
                say("result", id=command["id"], result={"tools": names})
            case "call":
                tasks.start_soon(call, client, scopes, command)
            case "cancel":
                scopes[command["call"]].cancel()
            case "close":
                break
    tasks.cancel_scope.cancel()


async def main() -> None:
    server = json.loads(sys.argv[1])
    parameters = StdioServerParameters(
        command=server["command"], args=server["args"], env=server["env"], cwd=server["cwd"]
    )
    info = types.Implementation(name="askbus-test", version="1")
    async with Client(parameters, mode=server["mode"], client_info=info) as client:
        say("ready")
        async with anyio.create_task_group() as tasks:
            await serve(client, tasks)


anyio.run(main)
