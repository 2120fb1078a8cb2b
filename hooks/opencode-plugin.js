// Baton's hooks for opencode, written by `baton hooks install`. Each event goes through the shim; README.md is the contract.
import { spawn } from "node:child_process"

const HOOKS = {}

export const Baton = async ({ client, directory }) => {
  const sessions = new Map() // by id: the session's parent, if it is a sub-agent's, and its agent
  const started = new Set()
  const advice = new Map() // by call: what is said beside its result

  // A session that this process has not seen start is asked for once.
  const known = async (id) => {
    if (!sessions.has(id)) {
      const found = await client.session.get({ path: { id } }).catch(() => ({}))
      sessions.set(id, { parent: found.data?.parentID, agent: found.data?.agent, old: true })
    }
    return sessions.get(id)
  }

  const about = async (id) => {
    const { parent, agent } = await known(id)
    let root = id
    for (let depth = 0; depth < 8 && (await known(root)).parent; depth++) root = (await known(root)).parent
    return { id, root, parent, agent: parent && agent }
  }

  // Returns what Baton says of an event; throws what it refuses.
  const ask = async (event, session, input, output, more) => {
    const hook = HOOKS[event]
    const ran = await run(hook, directory, JSON.stringify({ event, session, directory, input, output, ...more }))
    if (ran.code === 2 || (ran.code === null && hook.command.includes(" block"))) {
      throw new Error(ran.error.trim() || `Baton refused ${event}: its hook gave no answer. Run baton doctor.`)
    }
    let said = {}
    try {
      said = JSON.parse(ran.answer)
    } catch {}
    const specific = said.hookSpecificOutput ?? {}
    if (said.systemMessage) {
      client.tui.showToast({ body: { message: said.systemMessage, variant: "warning" } }).catch(() => {})
    }
    if (specific.permissionDecision === "deny") throw new Error(specific.permissionDecisionReason)
    if (said.decision === "block") throw new Error(said.reason)
    return specific
  }

  return {
    event: async ({ event }) => {
      const made = event.type === "session.created" ? event.properties.info : undefined
      if (made) sessions.set(made.id, { parent: made.parentID, agent: made.agent })
    },

    "chat.message": async (input, output) => {
      const session = await about(input.sessionID)
      if (session.parent) return
      const contexts = []
      if (!started.has(session.id)) {
        started.add(session.id)
        const source = (await known(session.id)).old ? "resume" : "startup"
        contexts.push((await ask("SessionStart", session, input, {}, { source })).additionalContext)
      }
      contexts.push((await ask("UserPromptSubmit", session, input, { parts: output.parts })).additionalContext)
      const last = output.parts.at(-1)
      if (!last) return
      const { sessionID, messageID } = last
      for (const [number, text] of contexts.filter(Boolean).entries()) {
        output.parts.push({ id: `${last.id}b${number}`, sessionID, messageID, type: "text", text, synthetic: true })
      }
    },

    "tool.execute.before": async (input, output) => {
      const said = await ask("PreToolUse", await about(input.sessionID), input, output)
      if (said.updatedInput) {
        for (const key of Object.keys(output.args)) delete output.args[key]
        Object.assign(output.args, said.updatedInput)
      }
      if (said.additionalContext) advice.set(input.callID, said.additionalContext)
    },

    "tool.execute.after": async (input, output) => {
      const text = advice.get(input.callID)
      advice.delete(input.callID)
      if (text && typeof output.output === "string") output.output += `\n\n${text}`
      await ask("PostToolUse", await about(input.sessionID), input, {}).catch(() => {})
    },
  }
}

// Runs a hook's line, and ends it when its time is over: opencode itself would wait for ever. A code of null is no answer.
const run = (hook, cwd, body) =>
  new Promise((resolve) => {
    const texts = { answer: "", error: "" }
    const options = { cwd, stdio: ["pipe", "pipe", "pipe"], windowsHide: true }
    const isWindows = process.platform === "win32"
    const child = isWindows
      ? spawn(hook.command, { ...options, shell: true })
      : spawn("sh", ["-c", hook.command], options)
    const end = (code) => {
      clearTimeout(timer)
      resolve({ code, ...texts })
    }
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      end(null)
    }, hook.timeout * 1000)
    child.stdout.on("data", (data) => (texts.answer += data))
    child.stderr.on("data", (data) => (texts.error += data))
    child.on("error", () => end(null))
    child.on("close", end)
    child.stdin.on("error", () => {})
    child.stdin.end(body)
  })
