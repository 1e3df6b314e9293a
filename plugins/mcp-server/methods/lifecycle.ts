import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { capabilitiesOf, serverInfo } from '../features.js';
import { emptyResult, type Method } from '../method.js';
import { RpcFailure } from '../wire/failure.js';
import { membersText } from '../wire/message.js';
import { member } from '../wire/params.js';
import {
  headerNames,
  isLogLevel,
  isSessionVersion,
  latestSessionVersion,
  logLevels,
  supportedVersions,
} from '../wire/protocol.js';

export const initialize: Method = {
  modes: ['session'],
  async run({ server, params, caller }) {
    const requested = member(params, 'protocolVersion');
    const protocolVersion = isSessionVersion(requested) ? String(requested) : latestSessionVersion;
    const object = (name: string): JsonObject => {
      const value = member(params, name);
      return isJsonObject(value) ? value : {};
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
      // Without the database the client is served without a session.
      server.host.log.warn({ err: error, correlationId: caller.correlationId }, 'A session could not be stored.');
      return { members };
    }
  },
};

export const ping: Method = { modes: ['session'], run: () => emptyResult };

export const discover: Method = {
  modes: ['stateless'],
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

export const setLevel: Method = {
  modes: ['session'],
  needs: 'logging',
  async run({ server, params, session }) {
    const level = member(params, 'level');
    if (!isLogLevel(level)) {
      throw new RpcFailure('INVALID_PARAM_VALUE', `Parameter "level" must be one of ${logLevels.join(', ')}.`, {
        details: { path: '/level', expected: logLevels },
      });
    }
    // A call without a session gets no log messages, so the level has no effect.
    if (session) await server.sessions.setLogLevel(session, level);
    return emptyResult;
  },
};
