import type { StartHost } from 'mortise/sdk';
import { createBackendClient } from './backend-client.js';
import { chosenBackend, type GatewayConfig } from './config.js';
import type { GatewayParts } from './parts.js';
import { createWriter } from './write/create-writer.js';
import { createSingleFlight } from './write/single-flight.js';

/** Milliseconds that the backend has in the path of a request. */
const BACKEND_LIMITS = { storeMs: 5_000, searchMs: 3_000 };

/** Puts the gateway together from what the host offers. */
export function createGateway(host: StartHost<GatewayConfig>): GatewayParts {
  const settings = host.use('settings');
  const services = { database: host.use('database'), logbook: host.use('logbook'), audit: host.use('audit') };
  const backend = createBackendClient(host.points, chosenBackend(host.config), BACKEND_LIMITS);
  return {
    ...services,
    backend,
    config: host.config,
    projectKey: settings.projectKey,
    version: settings.version,
    writer: createWriter({ ...services, backend }),
    flights: createSingleFlight(),
    points: host.points,
    log: host.log,
  };
}
