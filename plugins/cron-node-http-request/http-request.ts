import {
  type CronNode,
  type CronNodeContext,
  type CronNodeFacts,
  type GuardedFetch,
  isCodedError,
  type JsonObject,
  MortiseError,
  readResponse,
} from 'mortise/sdk';

/** Bytes of an answer; the output of a node has at most 64 KiB of JSON. */
const maxBytes = 48 * 1_024;
/** Headers of the answer that are part of the output. */
const shownHeaders = ['content-type', 'etag', 'last-modified', 'location', 'retry-after'];

function failed(message: string, cause?: unknown): MortiseError {
  return new MortiseError('http_request_failed', message, { status: 502, cause });
}

/**
 * Sends a request. Private, loopback and metadata addresses are refused, also after a redirect. The idempotency key is the
 * same for every repeat of this node for this slot.
 */
export function httpRequestNode(facts: CronNodeFacts, fetch: GuardedFetch): CronNode {
  return {
    ...facts,
    validate({ url, headers }) {
      if (!/\{\{|\{%/.test(String(url)) && !isHttpUrl(String(url))) return 'url must be an http or https URL';
      const name = Object.keys((headers ?? {}) as JsonObject).find((one) => !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(one));
      return name === undefined ? undefined : `headers has an invalid name: "${name}"`;
    },
    async run(params, ctx) {
      const url = String(params.url);
      if (!isHttpUrl(url)) throw failed('the rendered url is not an http or https URL');
      const response = await send(fetch, url, params, ctx);
      const accepted = params.accept_status as readonly number[] | undefined;
      const { bytes, isCut } = await readResponse(response, maxBytes).catch((cause: unknown) => {
        ctx.signal.throwIfAborted();
        throw failed(`the answer of ${hostOf(url)} broke off`, cause);
      });
      const isAccepted = accepted ? accepted.includes(response.status) : response.ok;
      if (!isAccepted) throw failed(`${hostOf(url)} answered with status ${response.status}`);
      const text = new TextDecoder().decode(bytes);
      const json = isCut ? undefined : jsonOf(response, text);
      return {
        result: `${response.status}`,
        output: {
          status: response.status,
          headers: Object.fromEntries(shownHeaders.flatMap((name) => pair(name, response.headers.get(name)))),
          ...(json === undefined ? { body: text } : { json }),
          ...(isCut ? { truncated: true } : {}),
        },
      };
    },
  };
}

function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '');
}

/** Host and port alone: the rest of an address may hold secrets. */
function hostOf(url: string): string {
  return new URL(url).host;
}

function pair(name: string, value: string | null): [string, string][] {
  return value === null ? [] : [[name, value]];
}

async function send(
  fetch: GuardedFetch,
  url: string,
  { method = 'GET', headers = {}, body }: JsonObject,
  { signal, idempotencyKey }: CronNodeContext,
): Promise<Response> {
  const isText = typeof body === 'string';
  const own = new Headers(headers as Record<string, string>);
  if (!own.has('idempotency-key')) own.set('idempotency-key', idempotencyKey);
  if (body !== undefined && body !== null && !own.has('content-type')) {
    own.set('content-type', isText ? 'text/plain; charset=utf-8' : 'application/json');
  }
  const content = body === undefined || body === null ? {} : { body: isText ? body : JSON.stringify(body) };
  try {
    return await fetch(url, { method: String(method), headers: own, signal, untrusted: true, ...content });
  } catch (error) {
    signal.throwIfAborted();
    if (isCodedError(error)) throw error;
    throw failed(`${hostOf(url)} could not be reached`, error);
  }
}

function jsonOf(response: Response, text: string): unknown {
  if (!/[/+]json\b/i.test(response.headers.get('content-type') ?? '')) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
