import { AsyncLocalStorage } from 'node:async_hooks';
import { type JsonObject, type LeasesService, mayConfigure, type NamedLease, type Route } from 'mortise/sdk';
import { qqError } from '../errors.js';
import { type QqAccount, readAccount, readInbound } from '../qq-config.js';
import { defaultIntents, runWorker, type WorkerDeps, type WorkerState } from './worker.js';

interface SupervisorDeps extends WorkerDeps {
  readonly leases: LeasesService;
  readonly config: () => JsonObject;
  /** No connection is opened, regardless of the channel's configuration. */
  readonly disabled: boolean;
}

interface Wanted {
  readonly account: QqAccount;
  readonly intents: number | undefined;
  /** Changes with everything that a running connection depends on. */
  readonly key: string;
}

interface Worker {
  readonly key: string;
  readonly lease: NamedLease;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

const leaseName = 'channel-qq:gateway';
const notStarted: WorkerState = {
  connected: false,
  intents: 0,
  intents_source: 'default',
  gateway_url: '',
  last_connected_at: '',
  last_event_at: '',
  last_event_type: '',
  last_error: '',
  last_error_at: '',
};

/** Opens and closes the connection to QQ according to the configuration, in one of the processes on the database. */
export class GatewaySupervisor {
  readonly #deps: SupervisorDeps;
  #worker: Worker | undefined;
  #state: WorkerState = { ...notStarted };
  #heldElsewhere = false;
  #stopped = false;
  #checking: Promise<void> = Promise.resolve();
  /** Detaches the connection from the call that opens it, whose time limit does not apply. */
  readonly #detached = AsyncLocalStorage.snapshot();

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
  }

  /** Compares the running connection with the configuration. Checks run one after the other. */
  check(): Promise<void> {
    this.#checking = this.#checking.then(() => this.#check());
    return this.#checking;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.check();
  }

  /** The body of `GET /channels/qq/state`. */
  state(): JsonObject {
    const config = this.#deps.config();
    const { enabled, inboundEnabled, intents } = readInbound(config);
    const { app_id, api_base, token_url } = config;
    const isRunning = this.#worker !== undefined;
    return {
      configured: this.#account() !== undefined,
      running: isRunning,
      held_elsewhere: this.#heldElsewhere,
      ...this.#state,
      intents_source: isRunning ? this.#state.intents_source : '',
      config: {
        enabled,
        inbound_enabled: inboundEnabled,
        app_id,
        api_base,
        token_url,
        ...(intents === undefined ? { intents_source: 'default' } : { intents, intents_source: 'configured' }),
      },
    };
  }

  async #check(): Promise<void> {
    const wanted = this.#stopped ? undefined : this.#wanted();
    const worker = this.#worker;
    if (worker && (worker.key !== wanted?.key || worker.lease.signal.aborted)) await this.#end(worker);
    if (!wanted) this.#heldElsewhere = false;
    if (wanted && !this.#worker) await this.#start(wanted);
  }

  async #start({ account, intents, key }: Wanted): Promise<void> {
    const lease = await this.#deps.leases.tryAcquire(leaseName).catch(() => null);
    this.#heldElsewhere = lease === null;
    if (!lease) return;
    const state: WorkerState = {
      ...notStarted,
      intents: intents ?? defaultIntents,
      intents_source: intents === undefined ? 'default' : 'configured',
    };
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, lease.signal]);
    this.#state = state;
    const done = this.#detached(() => runWorker(this.#deps, { account, intents }, state, signal));
    this.#worker = { key, lease, controller, done };
  }

  async #end({ lease, controller, done }: Worker): Promise<void> {
    controller.abort(new Error('The connection is no longer wanted.'));
    await done;
    await lease.dispose();
    this.#worker = undefined;
    this.#state = { ...this.#state, connected: false };
  }

  #wanted(): Wanted | undefined {
    const { config, disabled } = this.#deps;
    const { enabled, inboundEnabled, intents } = readInbound(config());
    const account = disabled || !enabled || !inboundEnabled ? undefined : this.#account();
    if (!account) return undefined;
    const { appId, clientSecret, apiBase, tokenUrl } = account;
    return { account, intents, key: JSON.stringify([appId, clientSecret, apiBase, tokenUrl, intents]) };
  }

  /** Undefined while the configuration has no complete account. */
  #account(): QqAccount | undefined {
    try {
      return readAccount(this.#deps.config());
    } catch {
      // Sending reports what is missing.
      return undefined;
    }
  }
}

/** `GET /channels/qq/state`, for the responding process. */
export function stateRoute(supervisor: GatewaySupervisor): Route {
  return {
    handle(_, { principal }) {
      if (!mayConfigure(principal)) throw qqError('forbidden');
      return { body: supervisor.state() };
    },
  };
}
