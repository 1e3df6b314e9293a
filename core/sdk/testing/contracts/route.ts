import { request as send } from 'node:http';
import type { ManifestRoute } from '../../manifest.js';
import type { TestHost } from '../create-test-host.js';
import { absence, ownerOf } from './common-checks.js';
import { type Check, type Contract, describeContract, type Subject } from './contract.js';
import { hostileTexts } from './hostile.js';
import { outcomeOf, sameJson } from './outcome.js';

export interface RouteSample {
  /** Defaults to the route's method in the manifest. */
  readonly method?: string;
  /** With query, e.g. `/chats?limit=1`. */
  readonly path: string;
  /** Sent as JSON, unless it is a string. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Expected status. */
  readonly status: number;
}

export interface RouteSubject extends Subject {
  /** Requests and their statuses; the first must succeed. */
  readonly samples: readonly [RouteSample, ...RouteSample[]];
  /** The route's right. With `key` or `admin` the host needs a key, and `headers` must carry it. */
  readonly auth?: ManifestRoute['auth'];
  /** Headers of every request, such as a key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The same request gives the same response (default). */
  readonly repeatable?: boolean;
  /** Invalid bodies. Default: common ones. */
  readonly hostileBodies?: readonly unknown[];
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const requestId = 'contract-request-1';

/** Sends a request with any method and path, unlike `fetch`. */
function ask(host: TestHost, subject: RouteSubject, sample: Omit<RouteSample, 'status'>, signal?: AbortSignal) {
  const { method = methodOf(host, subject.key), path, body } = sample;
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const headers: Record<string, string> = {
    'x-request-id': requestId,
    ...(text === '' ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
    ...subject.headers,
    ...sample.headers,
  };
  return new Promise<Answer>((resolve, reject) => {
    const url = new URL(host.origin);
    const outgoing = send(
      { host: url.hostname, port: url.port, method, path, headers, ...(signal ? { signal } : {}) },
      (incoming) => {
        let received = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text: received }),
        );
        incoming.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

function declarationOf(host: TestHost, key: string): ManifestRoute | undefined {
  const facts: unknown = host.points.list('route').find((one) => one.key === key)?.facts;
  return facts as ManifestRoute | undefined;
}

function methodOf(host: TestHost, key: string): string {
  return [declarationOf(host, key)?.method ?? 'GET'].flat()[0] ?? 'GET';
}

const json = (text: string): unknown => {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Finds problems in the headers and the body of a response. */
function formIssues(answer: Answer): readonly string[] {
  const issues: string[] = [];
  if (!/^corr-[0-9a-f]{16}$/.test(String(answer.headers['x-correlation-id']))) issues.push('it has no correlation id');
  if (answer.headers['x-request-id'] !== requestId) issues.push('it does not echo the request id');
  const isJson = String(answer.headers['content-type']).includes('json');
  if (isJson && answer.text !== '' && json(answer.text) === undefined) issues.push('its body is not JSON');
  if (answer.status >= 400 && answer.text !== '') issues.push(...envelopeIssues(answer));
  return issues;
}

/** Checks that an error has a code and a message in its API's envelope, and no stack. */
function envelopeIssues({ status, text }: Answer): readonly string[] {
  const body = json(text) as { error?: unknown; reason?: unknown; message?: unknown } | undefined;
  const error = body?.error as { code?: unknown; message?: unknown } | string | undefined;
  const inside = typeof error === 'object' ? error : { code: body?.reason, message: body?.message ?? error };
  const coded = inside?.code !== undefined && typeof inside.message === 'string';
  return [
    ...(coded ? [] : [`a ${status} has no code or no message`]),
    ...(/\n\s+at |node:internal/.test(JSON.stringify(json(text) ?? text)) ? [`a ${status} contains a stack`] : []),
  ];
}

const present: Check<RouteSubject> = {
  promise: 'is registered under its name',
  violations: async (host, { key }) => absence(host, 'route', key),
};

const answers: Check<RouteSubject> = {
  promise: 'responds to each request with the expected status, its ids and a valid body',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const sample of subject.samples) {
      const answer = await ask(host, subject, sample);
      const what = `${sample.method ?? methodOf(host, subject.key)} ${sample.path.slice(0, 80)}`;
      if (answer.status !== sample.status) issues.push(`${what} is ${answer.status} instead of ${sample.status}`);
      issues.push(...formIssues(answer).map((issue) => `${what}: ${issue}`));
    }
    return issues;
  },
};

const alike: Check<RouteSubject> = {
  promise: 'gives the same response to the same request, sequentially and concurrently',
  violations: async (host, subject) => {
    const [first] = subject.samples;
    const changing = ['correlation_id', 'request_id', ...(subject.changing ?? [])];
    const comparable = ({ status, text }: Answer) => [status, json(text) ?? text];
    const alone = comparable(await ask(host, subject, first));
    const others = await Promise.all(Array.from({ length: 10 }, () => ask(host, subject, first)));
    return others.every((one) => sameJson(comparable(one), alone, changing)) ? [] : ['a response is different'];
  },
};

const hostile: Check<RouteSubject> = {
  promise: 'answers hostile paths, queries and bodies without an internal error',
  violations: async (host, subject) => {
    const [first] = subject.samples;
    const short = hostileTexts.filter((text) => text.length < 1_000);
    const queries = short.map((text) => `${first.path.split('?')[0]}?limit=${encodeURIComponent(text.toWellFormed())}`);
    const samples: Omit<RouteSample, 'status'>[] = queries.map((path) => ({ ...first, path }));
    for (const text of short) {
      const declared = declarationOf(host, subject.key)?.path ?? '';
      if (!declared.includes(':')) break;
      samples.push({ ...first, path: declared.replace(/:[a-z_]+/gi, encodeURIComponent(text.toWellFormed())) });
    }
    const bodies = subject.hostileBodies ?? ['{"a":', null, [], 7, '""', {}, { constructor: 1 }];
    if (first.body !== undefined) for (const body of bodies) samples.push({ ...first, body });
    const issues: string[] = [];
    for (const sample of samples) {
      const answer = await ask(host, subject, sample);
      if (answer.status === 500) issues.push(`${sample.path.slice(0, 80)} is an internal error`);
      issues.push(...formIssues(answer));
    }
    return [...new Set(issues)];
  },
};

const rights: Check<RouteSubject> = {
  promise: 'refuses callers without a key',
  violations: async (host, subject) => {
    if (!host.app.http.service.keyed) return ['the host of the suite has no key: set MORTISE_API_KEY'];
    const [first] = subject.samples;
    const answer = await ask(host, { ...subject, headers: {} }, { ...first, headers: {} });
    return [...(answer.status === 401 ? [] : [`without a key it is ${answer.status}`]), ...formIssues(answer)];
  },
};

const departure: Check<RouteSubject> = {
  promise: 'stops its work when the client disconnects',
  violations: async (host, subject) => {
    const controller = new AbortController();
    const [first] = subject.samples;
    const asked = ask(host, subject, first, controller.signal).catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await asked;
    const end = Date.now() + (subject.graceMs ?? 2_000);
    const open = (): number => host.app.kernel.registry.find('route', subject.key)?.stats.inFlight ?? 0;
    while (open() > 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
    return open() === 0 ? [] : ['it continues after the client disconnected'];
  },
};

const withdrawal: Check<RouteSubject> = {
  promise: 'returns 404 with a hint while its plugin is disabled, and works again when it is enabled',
  violations: async (host, subject) => {
    const plugin = ownerOf(host, 'route', subject.key);
    if (plugin === undefined) return absence(host, 'route', subject.key);
    const [first] = subject.samples;
    await host.control.disable(plugin, { cascade: true });
    const disabled = await ask(host, subject, first);
    const enabled = await outcomeOf(() => host.control.enable(plugin));
    if (!enabled.ok) return [`its plugin does not start a second time (${String(enabled.error)})`];
    const back = await ask(host, subject, first);
    return [
      ...(disabled.status === 404 && disabled.text.includes(`plugin ${plugin} is disabled`)
        ? []
        : [`while its plugin is disabled it is ${disabled.status}: ${disabled.text.slice(0, 120)}`]),
      ...(back.status === first.status ? [] : [`afterwards it is ${back.status}`]),
    ];
  },
};

export const routeSuite: Contract<RouteSubject> = {
  point: 'route',
  checks: (subject) => [
    present,
    answers,
    ...((subject.repeatable ?? true) ? [alike] : []),
    hostile,
    ...(subject.auth && subject.auth !== 'public' ? [rights] : []),
    departure,
    withdrawal,
  ],
};

/**
 * Defines the contract tests of an HTTP route, which run through the port.
 *
 * @example
 * routeContract('the list of plugins', {
 *   host: () => createTestHost({ plugins: ['admin'] }),
 *   key: 'plugin-list',
 *   samples: [{ path: '/admin/plugins', status: 200 }],
 * });
 */
export function routeContract(name: string, subject: RouteSubject): void {
  describeContract(`${name} meets the contract of routes`, routeSuite, subject);
}
