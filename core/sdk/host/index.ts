import type { Database } from './database.js';
import type { GuardedFetch } from './fetch.js';
import type { FilesService } from './files.js';
import type { HttpService } from './http.js';
import type { InstancesService } from './instances.js';
import type { LeasesService } from './leases.js';
import type { MetricsService } from './metrics.js';
import type { PluginControl } from './plugin-control.js';
import type { ScheduleService } from './schedule.js';
import type { SchemasService } from './schemas.js';
import type { SecretsService } from './secrets.js';
import type { SettingsService } from './settings.js';

/** Services of the host; a manifest requests them in `permissions.services`. */
export interface HostServices {
  database: Database;
  http: HttpService;
  schedule: ScheduleService;
  schemas: SchemasService;
  fetch: GuardedFetch;
  secrets: SecretsService;
  files: FilesService;
  instances: InstancesService;
  leases: LeasesService;
  settings: SettingsService;
  metrics: MetricsService;
  /** Lists, plans and toggles plugins: the engine behind the admin API and the CLI. */
  plugins: PluginControl;
}
