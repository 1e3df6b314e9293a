import type { StartHost } from 'mortise/sdk';
import { createCircuitBreaker } from './backend/circuit-breaker.js';
import { createBackendClient } from './backend-client.js';
import type { Config } from './config.generated.js';
import { chosenBackend } from './config.js';
import type { GatewayParts } from './parts.js';
import { createWriter } from './write/create-writer.js';
import { createSettlements } from './write/settlements.js';
import { createSingleFlight } from './write/single-flight.js';

/** Puts the gateway together from what the host offers. */
export function createGateway(host: StartHost<Config>): GatewayParts {
  const settings = host.use('settings');
  const services = { database: host.use('database'), logbook: host.use('logbook'), audit: host.use('audit') };
  const key = chosenBackend(host.config);
  const backend = createBackendClient({
    points: host.points,
    backend: key,
    limits: { storeMs: host.config.store_timeout_ms, searchMs: host.config.query_timeout_ms },
    breaker: createCircuitBreaker(),
    keepsText: host.config.ledger === 'full',
    known: (ids) => services.logbook.ledger.byBackendIds(key, ids),
  });
  return {
    ...services,
    backend,
    config: host.config,
    projectKey: settings.projectKey,
    version: settings.version,
    writer: createWriter({ ...services, backend }),
    settlements: createSettlements(services.database),
    inFlight: new Set(),
    instances: host.use('instances'),
    flights: createSingleFlight(),
    points: host.points,
    log: host.log,
    http: host.use('http'),
  };
}
