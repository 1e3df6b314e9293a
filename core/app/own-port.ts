import { listenerOn } from '../process/raw-resources.js';
import { isCodedError, MortiseError } from '../sdk/errors.js';

/** The reason why the port could not be opened: one that a plugin of this process took is no other program's. */
export function whoHasPort(error: unknown, port: number): unknown {
  const plugin = isCodedError(error) && error.code === 'port_in_use' ? listenerOn(port) : undefined;
  if (plugin === undefined) return error;
  return new MortiseError('port_in_use', `The plugin ${plugin} listens on port ${port}, which is the server's own.`, {
    hint: `Give the plugin another port or disable it (mortise plugin disable ${plugin}), or set MORTISE_PORT to a free port.`,
    cause: error,
  });
}
