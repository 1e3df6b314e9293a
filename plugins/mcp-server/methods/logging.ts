import { emptyResult, type Method } from '../method.js';
import { isLogLevel, logLevels } from '../tools/tool-log.js';
import { RpcFailure } from '../wire/failure.js';
import { member } from '../wire/json.js';

export const setLevel: Method = {
  eras: ['session'],
  needs: 'logging',
  async run({ server, params, session }) {
    const level = member(params, 'level');
    if (!isLogLevel(level)) {
      throw new RpcFailure('INVALID_PARAM_VALUE', `Parameter "level" must be one of ${logLevels.join(', ')}.`, {
        details: { path: '/level', expected: logLevels },
      });
    }
    // A call without session has nowhere to keep it, and gets no log either.
    if (session) await server.sessions.setLogLevel(session, level);
    return emptyResult;
  },
};
