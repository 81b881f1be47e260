// Memory for OpenClaw: recall before a prompt, capture after an answer, and which tools served which request.
// Made by `recollect setup openclaw` and removed by `recollect setup openclaw --uninstall`.
//
// Each event runs `recollect hook openclaw …` with a little JSON on its standard input. Nothing here throws or waits for
// long: without recollect an agent works as it did before.
import { spawn } from "node:child_process";

const COMMAND = ["recollect"];
const SESSIONS = 200; // remembered at once
const NOBODY_ASKED = new Set(["heartbeat", "cron"]);

const sessions = new Map(); // id → { folder, request, context }

function sessionOf(ctx) {
  const id = ctx?.sessionId ?? ctx?.sessionKey;
  if (!id) return undefined;
  const known = sessions.get(id);
  const session = known ?? { id, isNew: true, folder: undefined, request: undefined, context: undefined };
  session.folder = ctx.workspaceDir ?? session.folder;
  sessions.delete(id); // the last used stand at the end
  sessions.set(id, session);
  while (sessions.size > SESSIONS) sessions.delete(sessions.keys().next().value);
  return session;
}

function tell(event, session, given, milliseconds) {
  return new Promise((resolve) => {
    const [program, ...words] = COMMAND;
    let said = "";
    let child;
    try {
      child = spawn(program, [...words, "hook", "openclaw", event], {
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
        timeout: milliseconds,
      });
    } catch {
      return resolve({});
    }
    child.on("error", () => resolve({}));
    child.stdin.on("error", () => {});
    child.stdout.on("data", (part) => (said += part));
    child.on("close", () => {
      try {
        resolve(JSON.parse(said || "{}"));
      } catch {
        resolve({});
      }
    });
    child.stdin.end(JSON.stringify({ session_id: session.id, cwd: session.folder, ...given }));
  });
}

function textOf(message) {
  if (typeof message?.content === "string") return message.content;
  const parts = Array.isArray(message?.content) ? message.content : [];
  return parts.filter((part) => part?.type === "text" && typeof part.text === "string").map((part) => part.text).join("\n");
}

async function beforePrompt(event, ctx) {
  const session = sessionOf(ctx);
  if (!session || NOBODY_ASKED.has(ctx.trigger)) return undefined;
  // A prompt may be built more than once for one request; it is told the same each time.
  const request = event.currentUserMessageId;
  if (request === undefined || request !== session.request) {
    const prompt = event.currentUserMessage ?? event.prompt ?? "";
    const told = [];
    if (session.isNew) {
      session.isNew = false;
      const source = event.messages?.length ? "resume" : "startup";
      told.push((await tell("session-start", session, { source }, 9000)).prependContext);
    }
    told.push((await tell("prompt", session, { prompt, turn_id: request }, 5000)).prependContext);
    session.request = request;
    session.context = told.filter(Boolean).join("\n") || undefined;
  }
  return session.context ? { prependContext: session.context } : undefined;
}

async function afterAnswer(event, ctx) {
  const session = sessionOf(ctx);
  if (!session || !event.success || NOBODY_ASKED.has(ctx.trigger)) return;
  const last = [...(event.messages ?? [])].reverse().find((message) => message?.role === "assistant");
  const said = textOf(last);
  if (said) await tell("stop", session, { last_assistant_message: said, turn_id: event.runId }, 20000);
}

async function afterTool(event, ctx) {
  const session = sessionOf(ctx);
  if (!session || !event.toolName?.includes("__")) return;
  const failed = Boolean(event.error) || event.result?.isError === true;
  const names = Object.fromEntries(Object.keys(event.params ?? {}).map((name) => [name, ""]));
  await tell(failed ? "tool-failed" : "tool-used", session, { tool_name: event.toolName, tool_input: names }, 9000);
}

export default {
  id: "recollect",
  name: "recollect",
  description: "Persistent memory: what was said, decided and done, recalled where it matters.",
  register(api) {
    api.on("before_prompt_build", beforePrompt);
    api.on("agent_end", afterAnswer);
    api.on("after_tool_call", afterTool);
    api.on("before_compaction", async (_event, ctx) => {
      const session = sessionOf(ctx);
      if (session) await tell("pre-compact", session, {}, 20000);
    });
    api.on("session_end", async (_event, ctx) => {
      const session = sessionOf(ctx);
      if (session) await tell("session-end", session, {}, 20000);
      sessions.delete(session?.id);
    });
  },
};
