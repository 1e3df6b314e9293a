import { LRUCache } from 'lru-cache';
import type { GuardedFetch } from 'mortise/sdk';
import { sendFailed } from './errors.js';
import { askPlatform, refusalText } from './platform-request.js';
import type { QqAccount } from './qq-config.js';

interface TokenDeps {
  readonly fetch: GuardedFetch;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal;
}

interface CachedToken {
  readonly token: string;
  /** Epoch milliseconds from which a new one is requested. */
  readonly renewAt: number;
}

const defaultSeconds = 7_200;
const renewEarlySeconds = 300;

/** Access tokens by account, each requested once for all waiting callers. */
export class AccessTokens {
  readonly #deps: TokenDeps;
  readonly #tokens = new LRUCache<string, CachedToken>({ max: 16 });
  readonly #pending = new Map<string, Promise<CachedToken>>();

  constructor(deps: TokenDeps) {
    this.#deps = deps;
  }

  /**
   * @param signal ends the wait; a request that others may wait for continues
   * @throws channel_dispatch_failed, network_denied
   */
  async get(account: QqAccount, signal: AbortSignal): Promise<string> {
    const key = keyOf(account);
    const cached = this.#tokens.get(key);
    if (cached && cached.renewAt > this.#deps.now()) return cached.token;
    let pending = this.#pending.get(key);
    if (!pending) {
      pending = this.#request(account).finally(() => this.#pending.delete(key));
      this.#pending.set(key, pending);
      pending.then((fresh) => this.#tokens.set(key, fresh)).catch(() => undefined);
    }
    return (await untilAborted(pending, signal)).token;
  }

  /** Discards a token that QQ no longer accepts, unless it has been replaced. */
  drop(account: QqAccount, token: string): void {
    const key = keyOf(account);
    if (this.#tokens.get(key)?.token === token) this.#tokens.delete(key);
  }

  async #request({ appId, clientSecret, tokenUrl, timeoutMs }: QqAccount): Promise<CachedToken> {
    const { fetch, now, signal } = this.#deps;
    const api = 'token API';
    const answer = await askPlatform(
      fetch,
      { api, method: 'POST', url: tokenUrl, body: { appId, clientSecret }, timeoutMs, isRepeatable: true },
      signal,
    );
    const { access_token: token, expires_in: expires } = answer.body;
    if (answer.status < 200 || answer.status > 299) throw sendFailed(refusalText(api, answer));
    // Wrong credentials are answered with status 200, a code and no token. A token must be a valid header value.
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
      throw sendFailed(`${refusalText(api, answer)} without a token`);
    }
    const seconds = secondsOf(expires);
    return { token, renewAt: now() + Math.max(seconds - renewEarlySeconds, seconds / 2) * 1_000 };
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function secondsOf(value: unknown): number {
  const seconds = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '') ? Number(value) : -1;
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : defaultSeconds;
}

function keyOf({ appId, clientSecret, tokenUrl }: QqAccount): string {
  return JSON.stringify([appId, clientSecret, tokenUrl.href]);
}
