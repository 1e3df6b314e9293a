import { isCodedError, type JsonObject, MortiseError, type ToolContext } from 'mortise/sdk';
import { selfOpsError } from './errors.js';
import type { SelfOps } from './self-ops.js';

type Action = 'bootstrap_session' | 'set_session_model' | 'preview_mutation' | 'apply_mutation';

/** The tool `self_ops`: one action per call. Session, user and channel are those of the calling turn unless given. */
export async function runSelfOps(ops: SelfOps, args: JsonObject, ctx: ToolContext): Promise<object> {
  const { action, ...given } = args;
  try {
    const result = await run(ops, action as Action, given, ctx);
    return { ok: true, action, result };
  } catch (error) {
    if (!isCodedError(error) || (error.status ?? 500) >= 500) throw error;
    // A model reads the message of an error, not its code.
    const details = { cause: error.code, ...error.details };
    throw new MortiseError('tool_invoke_failed', `${error.code}: ${error.message}`, { status: 502, details });
  }
}

function run(ops: SelfOps, action: Action, given: JsonObject, ctx: ToolContext): Promise<object> {
  const { session } = ctx;
  const own = session ? { user_id: session.userId, channel: session.channel } : {};
  switch (action) {
    case 'bootstrap_session': {
      const body = { ...own, ...given, stream: false };
      const isOwn = session && 'session_seed' in body && body.session_seed === session.sessionId;
      // The session is busy with the calling turn, which would wait for itself.
      if (isOwn)
        throw selfOpsError('invalid_request', { message: 'session_seed must not be the session of this turn' });
      return ops.bootstrap(body, ctx);
    }
    case 'set_session_model': {
      const sessionId = typeof given.session_id === 'string' ? given.session_id : (session?.sessionId ?? '');
      return ops.setSessionModel(sessionId, { ...own, ...given }, ctx);
    }
    case 'preview_mutation':
      return ops.preview(given, ctx);
    case 'apply_mutation':
      return ops.apply(given, ctx);
  }
}
