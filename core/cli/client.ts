import { MortiseError } from '../sdk/errors.js';

/** Where the running server is and what opens it. */
export interface ClientOptions {
  readonly base: string;
  readonly apiKey: string | undefined;
  readonly adminKey: string | undefined;
}

/** The running server's API, as the commands use it. */
export interface Client {
  /** Something answers as a Mortise server. */
  alive(): Promise<boolean>;
  /** @throws MortiseError with the server's code, message, details and hint. */
  request(method: string, path: string, body?: unknown): Promise<unknown>;
}

export function createClient(options: ClientOptions): Client {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (options.apiKey) headers['x-api-key'] = options.apiKey;
  if (options.adminKey) headers['x-admin-key'] = options.adminKey;
  return {
    alive: async () => {
      try {
        const response = await fetch(`${options.base}/healthz`, { signal: AbortSignal.timeout(2_000) });
        return response.ok && ((await response.json()) as { ok?: unknown }).ok === true;
      } catch {
        return false;
      }
    },
    request: async (method, path, body) => {
      const response = await fetch(`${options.base}${path}`, {
        method,
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const answer = parse(text);
      if (response.ok) return answer;
      const error = (
        answer as
          | { error?: { code?: string; message?: string; details?: Record<string, unknown>; hint?: string } }
          | undefined
      )?.error;
      throw new MortiseError(
        error?.code ?? 'request_failed',
        error?.message ?? `The server answered ${response.status}.`,
        {
          status: response.status,
          ...(error?.details ? { details: error.details } : {}),
          ...(error?.hint ? { hint: error.hint } : {}),
        },
      );
    },
  };
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
