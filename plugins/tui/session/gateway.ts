import type { TurnEvent } from 'mortise/contracts/agent';
import { isJsonObject, type JsonObject, MortiseError, readEventData } from 'mortise/sdk';

/** The address of the gateway, and the key and user of the UI. */
export interface Connection {
  readonly apiBase: string;
  readonly apiKey: string;
  readonly userId: string;
  readonly channel: string;
}

export interface ChatRow {
  readonly id: string;
  readonly name: string;
  readonly session_id: string;
  readonly user_id: string;
  readonly channel: string;
  /** RFC 3339 */
  readonly updated_at: string;
  readonly meta: JsonObject;
}

export interface MessageRow {
  readonly role: string;
  readonly content: readonly { readonly type?: string; readonly text?: string }[];
  readonly metadata?: JsonObject;
}

interface ModelChoice {
  readonly providerId: string;
  readonly model: string;
  readonly name: string;
  readonly provider: string;
}

export interface ModelSlot {
  readonly provider_id: string;
  readonly model: string;
}

export const modelName = ({ provider_id, model }: ModelSlot): string => (model === '' ? '' : `${provider_id}/${model}`);

export interface Question {
  readonly id: string;
  readonly header: string;
  readonly question: string;
  readonly options?: readonly { readonly label: string; readonly description?: string }[];
}

export interface QuestionRequest {
  readonly requestId: string;
  readonly questions: readonly Question[];
}

interface TurnRequest {
  readonly sessionId: string;
  readonly text: string;
  readonly idempotencyKey: string;
  readonly businessParams: JsonObject;
  readonly signal: AbortSignal;
}

/** Maximum characters of one event, which may contain a whole reply. */
const maxEventLength = 32 * 1_048_576;
const requestTimeoutMs = 15_000;

/** The built-in model needs no settings, so it is not among the providers of the gateway. */
const demoChoice: ModelChoice = { providerId: 'demo', provider: 'Demo', model: 'demo-chat', name: 'demo-chat' };

/** The public API of a running gateway, as this UI uses it. Every error is a MortiseError. */
export function openGateway({ apiBase, apiKey, userId, channel }: Connection) {
  const send = async (method: string, path: string, body?: unknown, init: RequestInit = {}): Promise<Response> => {
    const headers = {
      ...(apiKey === '' ? {} : { 'x-api-key': apiKey }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(init.headers as Record<string, string> | undefined),
    };
    let response: Response;
    try {
      response = await fetch(`${apiBase}${path}`, {
        signal: AbortSignal.timeout(requestTimeoutMs),
        ...init,
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw init.signal?.aborted ? error : unreachable(apiBase, error);
    }
    if (response.ok) return response;
    throw refusal(response.status, await response.text().catch(() => ''));
  };
  const read = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await send(method, path, body);
    try {
      return (await response.json()) as T;
    } catch (error) {
      throw unreachable(apiBase, error);
    }
  };
  const owner = new URLSearchParams({ user_id: userId, channel }).toString();

  return {
    /** Newest first. */
    chats: () => read<readonly ChatRow[]>('GET', `/chats?${owner}&limit=200`),
    /** Oldest first. */
    messages: async (chatId: string) =>
      (
        await read<{ messages: readonly MessageRow[] }>(
          'GET',
          `/chats/${encodeURIComponent(chatId)}?limit=200&include_failed=true`,
        )
      ).messages,
    deleteChat: (chatId: string) => read('DELETE', `/chats/${encodeURIComponent(chatId)}`),
    /** The model that is chosen for all chats; empty when the settings of the server decide. */
    activeModel: async (): Promise<string> => {
      const { active_llm: slot } = await read<{ active_llm: ModelSlot }>('GET', '/models/active');
      return modelName(slot);
    },
    models: async (): Promise<readonly ModelChoice[]> => {
      const providers = await read<
        readonly {
          id: string;
          display_name: string;
          enabled: boolean;
          models: readonly { id: string; name: string }[];
        }[]
      >('GET', '/models');
      const choices = providers
        .filter(({ enabled }) => enabled)
        .flatMap(({ id, display_name, models }) =>
          models.map((model) => ({ providerId: id, provider: display_name, model: model.id, name: model.name })),
        );
      return [...choices, demoChoice];
    },
    chooseModel: (providerId: string, model: string) =>
      read('PUT', '/models/active', { provider_id: providerId, model }),
    /** Whether prompt templates are enabled in the gateway. */
    hasTemplates: async () =>
      (await read<{ features: { prompt_templates: boolean } }>('GET', '/runtime-config')).features.prompt_templates,
    /** The text of a workspace file; undefined where there is none. */
    workspaceFile: async (path: string): Promise<string | undefined> => {
      try {
        return (
          await read<{ content: string }>(
            'GET',
            `/workspace/files/${path.split('/').map(encodeURIComponent).join('/')}`,
          )
        ).content;
      } catch (error) {
        if (error instanceof MortiseError && error.status === 404) return undefined;
        throw error;
      }
    },
    /** Unanswered questions of this session. */
    questions: async (sessionId: string): Promise<readonly QuestionRequest[]> => {
      const query = `${owner}&session_id=${encodeURIComponent(sessionId)}`;
      const rows = await read<readonly { request_id: string; questions: readonly Question[] }[]>(
        'GET',
        `/agent/tool-input-requests?${query}`,
      );
      return rows.map(({ request_id, questions }) => ({ requestId: request_id, questions }));
    },
    answer: (sessionId: string, requestId: string, answers: Readonly<Record<string, readonly string[]>>) =>
      read('POST', '/agent/tool-input-answer', {
        request_id: requestId,
        session_id: sessionId,
        user_id: userId,
        channel,
        answers: Object.fromEntries(Object.entries(answers).map(([id, texts]) => [id, { answers: texts }])),
      }),
    /** The events of a turn as they happen. Aborting the signal cancels the turn. */
    async *turn({ sessionId, text, idempotencyKey, businessParams, signal }: TurnRequest): AsyncGenerator<TurnEvent> {
      const body = {
        input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
        session_id: sessionId,
        user_id: userId,
        channel,
        stream: true,
        biz_params: businessParams,
      };
      const headers = { 'idempotency-key': idempotencyKey, accept: 'text/event-stream' };
      const response = await send('POST', '/agent/process', body, { signal, headers });
      if (response.status === 202 || response.body === null) throw notDelivered();
      try {
        for await (const data of readEventData(response.body, maxEventLength)) {
          if (data === '[DONE]') return;
          const event = eventOf(data);
          if (event?.type === 'error') throw coded(event.meta);
          if (event) yield event;
        }
      } catch (error) {
        throw signal.aborted || error instanceof MortiseError ? error : connectionLost(error);
      }
      throw connectionLost();
    },
  };
}

export type Gateway = ReturnType<typeof openGateway>;

interface ErrorFacts {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly hint?: unknown;
}

type StreamEvent = TurnEvent | { readonly type: 'error'; readonly meta: ErrorFacts };

function eventOf(data: string): StreamEvent | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) && typeof value.type === 'string' ? (value as unknown as StreamEvent) : undefined;
  } catch {
    return undefined;
  }
}

function refusal(status: number, text: string): MortiseError {
  try {
    return coded((JSON.parse(text) as { error?: ErrorFacts }).error ?? {}, status);
  } catch {
    // Not an error of the gateway: a proxy answered.
    return coded({}, status);
  }
}

function coded(facts: ErrorFacts, status = 500): MortiseError {
  const code = typeof facts.code === 'string' ? facts.code : 'request_failed';
  const message = typeof facts.message === 'string' ? facts.message : `The server answered ${status}.`;
  const hint = hints[code] ?? (typeof facts.hint === 'string' ? facts.hint : undefined);
  return new MortiseError(code, message, { status, ...(hint ? { hint } : {}) });
}

/** Hints of this UI for errors of the API; other errors have the server's hint, or none. */
const hints: Readonly<Record<string, string>> = {
  unauthorized: 'Press F4 and set the API key, or start with MORTISE_API_KEY.',
  actor_mismatch: 'This key belongs to another user: press F4 and set the user.',
  host_not_allowed: 'Use an address that the server allows, or add the host to its MORTISE_ALLOWED_HOSTS.',
  provider_request_failed: 'Try again, or choose another model with /model.',
  provider_not_found: 'Choose a model with /model.',
  provider_disabled: 'Choose another model with /model.',
  model_not_found: 'Choose another model with /model.',
  session_busy: 'Wait until the running turns of this chat have ended.',
  rate_limited: 'Wait a moment and send it again.',
  codex_prompt_unavailable: 'Run mortise prompts install --mode codex, or press Ctrl+P for another mode.',
  claude_prompt_unavailable: 'Run mortise prompts install --mode claude, or press Ctrl+P for another mode.',
  channel_not_supported: 'Press F4 and set a channel that exists, such as console.',
  channel_disabled: 'Press F4 and set an enabled channel, such as console.',
  shutting_down: 'The server restarts: send it again in a moment.',
};

function unreachable(apiBase: string, cause: unknown): MortiseError {
  return new MortiseError('no_server', `No Mortise server answers at ${apiBase}.`, {
    hint: 'Start one with npm start, or press F4 and set its address.',
    cause,
  });
}

function connectionLost(cause?: unknown): MortiseError {
  return new MortiseError('connection_lost', 'The connection ended before the reply was complete.', {
    hint: 'Press Ctrl+R to load what is stored.',
    ...(cause === undefined ? {} : { cause }),
  });
}

function notDelivered(): MortiseError {
  return new MortiseError('not_delivered', 'The gate put the message aside, and no turn answers it.', {
    hint: 'mortise gate status shows why.',
  });
}
