import { MortiseError } from '../../../errors.js';
import type { ManifestRoute } from '../../../manifest.js';
import type { Route, RouteContribution } from '../../../points/route.js';
import { type RouteSubject, routeSuite } from '../route.js';
import { type Sample, testSuite, wait, waitFor } from '../suite-samples.js';

const declared = (key: string, auth: ManifestRoute['auth']): ManifestRoute => ({
  name: key,
  kind: 'http',
  method: 'POST',
  path: `/contract-${key}/:id`,
  auth,
});

const good: Route['handle'] = async ({ params, body, query }, { signal }) => {
  if (params.id === 'missing') throw new MortiseError('item_not_found', 'There is no such item.', { status: 404 });
  if (query.has('slow')) await waitFor(3_000, signal);
  return { body: { id: params.id, given: body ?? null } };
};

/** Each sample has a separate path, named after its key. */
const route = (
  index: number | 'good',
  handle: Route['handle'] = good,
  auth: ManifestRoute['auth'] = 'key',
): Sample<'route', RouteSubject> => {
  const key = index === 'good' ? 'good' : `bad-${index}`;
  const path = `/contract-${key}/one`;
  return {
    make: (): RouteContribution => ({ handle }),
    manifest: { key, contributes: {}, permissions: { routes: [declared(key, auth)] } },
    subject: {
      samples: [
        { path, body: { text: 'hello' }, status: 200 },
        { path: `/contract-${key}/missing`, body: {}, status: 404 },
      ],
    },
  };
};

let calls = 0;
let started = 0;
const key = 'contract-key-0123456789';

testSuite(
  { ...routeSuite, point: 'route' },
  {
    good: route('good'),
    subject: { samples: [{ path: '/', status: 200 }], auth: 'key', headers: { 'x-api-key': key } },
    env: { MORTISE_API_KEY: key },
    bad: {
      'is registered under its name': {
        ...route(0),
        start: () => {
          throw new Error('no');
        },
      },
      'responds to each request with the expected status, its ids and a valid body': route(1, () => ({
        status: 404,
        body: { sorry: true },
      })),
      'gives the same response to the same request, sequentially and concurrently': route(2, () => ({
        body: { call: calls++ },
      })),
      'answers hostile paths, queries and bodies without an internal error': route(3, ({ query }) => ({
        body: { limit: decodeURIComponent(query.get('limit') ?? '') },
      })),
      'refuses callers without a key': route(4, good, 'public'),
      'stops its work when the client disconnects': route(5, async () => {
        await wait(700);
        return { body: {} };
      }),
      'returns 404 with a hint while its plugin is disabled, and works again when it is enabled': {
        ...route(6),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already started');
        },
      },
    },
  },
);
