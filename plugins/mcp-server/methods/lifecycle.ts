import { emptyResult, type Method } from '../method.js';
import { isObject, type JsonObject, member, membersText } from '../wire/json.js';
import { headerNames } from '../wire/names.js';
import { isSessionVersion, latestSessionVersion, supportedVersions } from '../wire/versions.js';
import { capabilitiesOf, serverInfo } from './server-info.js';

export const initialize: Method = {
  eras: ['session'],
  async run({ server, params, caller }) {
    const asked = member(params, 'protocolVersion');
    const protocolVersion = isSessionVersion(asked) ? String(asked) : latestSessionVersion;
    const object = (name: string): JsonObject => {
      const value = member(params, name);
      return isObject(value) ? value : {};
    };
    const members = membersText({
      protocolVersion,
      capabilities: capabilitiesOf(server.features(), 'session'),
      serverInfo: serverInfo(server.version),
      instructions: server.host.config.instructions,
    });
    try {
      const session = await server.sessions.open(
        caller.principal.id,
        protocolVersion,
        object('capabilities'),
        object('clientInfo'),
      );
      return { members, headers: { [headerNames.session]: session.id } };
    } catch (error) {
      // Everything but the session works without the database, and a client without a session is served as well.
      server.host.log.warn({ err: error, correlationId: caller.correlationId }, 'A session could not be stored.');
      return { members };
    }
  },
};

export const ping: Method = { eras: ['session'], run: () => emptyResult };

export const discover: Method = {
  eras: ['stateless'],
  run: ({ server }) => ({
    members: membersText({
      supportedVersions,
      capabilities: capabilitiesOf(server.features(), 'stateless'),
      instructions: server.host.config.instructions,
      ttlMs: 3_600_000,
      cacheScope: server.http.keyed ? 'private' : 'public',
    }),
  }),
};
