#!/usr/bin/env python3
"""A host of agents in its smallest form, with nothing but Python's standard library.

It begins a turn, keeps it alive while it goes on, asks a person a question in it as the turn's agent
would, reports the tools that were used, and ends the turn. Every step is printed as one JSON line.

    host.py --url http://127.0.0.1:7410 --credential ~/.askbus/credentials/host \
            --session build-42 --tool Read --tool Write "Deploy now?" yes no
"""

import argparse
import json
import os
import sys
import threading
import urllib.error
import urllib.request


class Refused(Exception):
    """What Askbus did not do; `reason` is a stable code, the text is for a person."""

    def __init__(self, status, body):
        super().__init__(body.get("error", f"HTTP status {status}"))
        self.status = status
        self.reason = body.get("reason", "")


class Askbus:
    """The routes of hosts."""

    def __init__(self, url, credential):
        self.url = url.rstrip("/")
        self.credential = credential

    def post(self, path, body, timeout=20):
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.credential}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                try:
                    body = json.load(error)
                except ValueError:
                    body = {}
            raise Refused(error.code, body) from None


class Turn:
    """One turn of a session. It is kept alive from `with` to its end."""

    def __init__(self, askbus, **begin):
        self.askbus = askbus
        self.begun = askbus.post("/api/turns/begin", begin)
        self.path = f"/api/turns/{self.begun['context_id']}"
        self.account = None
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def _keep(self):
        pause = 0
        while not self._over.wait(pause):
            try:
                held = self.askbus.post(self.path + "/hold", {})
            except (OSError, Refused) as error:
                if isinstance(error, Refused) and error.status == 409:
                    return
                # The lease outlives a short absence of the service.
                pause = 1
                continue
            if held["ended"]:
                return
            pause = held["lease_ms"] / 3000

    def __enter__(self):
        self._keeper.start()
        return self

    def __exit__(self, failed, *_):
        self._over.set()
        end = "failed" if failed else "completed"
        self.account = self.askbus.post(self.path + "/end", {"end": end})
        self._keeper.join()

    def ask(self, question, choices):
        """Blocks until a person answers, or until it is settled without one."""
        body = {
            "context_id": self.begun["context_id"],
            "question": question,
            "choices": choices,
        }
        return self.askbus.post("/api/studio/clarifications/request", body, timeout=340)

    def used(self, tool):
        return self.askbus.post(self.path + "/tool-use", {"tool": tool})


def credential(text):
    """A credential, or the file that holds one."""
    path = os.path.expanduser(text)
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    return text


def say(step, what):
    print(json.dumps({"step": step, **what}, ensure_ascii=False), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--credential", required=True)
    parser.add_argument("--session", required=True)
    parser.add_argument("--when-absent", choices=["wait", "deferred", "unattended"], default="wait")
    parser.add_argument("--language", default="en")
    parser.add_argument("--tool", action="append", default=[], help="a tool the agent uses")
    parser.add_argument("question")
    parser.add_argument("choice", nargs="*")
    args = parser.parse_args()

    askbus = Askbus(args.url, credential(args.credential))
    turn = Turn(
        askbus,
        session_id=args.session,
        language=args.language,
        policy={"when_absent": args.when_absent},
    )
    # The instruction goes behind the latest input of the agent, and nowhere else.
    say("begun", turn.begun)
    with turn:
        say("answered", turn.ask(args.question, args.choice))
        for tool in args.tool:
            say("used", {"tool": tool, **turn.used(tool)})
    # What was deferred is the turn's reply: somebody reads it, and the next turn begins with the answer.
    say("ended", turn.account)


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        say("refused", {"status": refused.status, "reason": refused.reason, "error": str(refused)})
        sys.exit(1)
