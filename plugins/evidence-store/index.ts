import type { PluginDefinition } from 'mortise/sdk';
import { openArtifacts } from './artifacts/artifact-store.js';
import type { Config } from './config.generated.js';
import type { UploadDeps } from './upload/record-evidence.js';
import { uploadEvidence } from './upload/upload-evidence.js';

/** The service `artifacts` and the tool `evidence_upload`. */
export default function evidenceStore(): PluginDefinition<Config> {
  return {
    key: 'evidence-store',
    start(host) {
      const artifacts = openArtifacts(host);
      host.provide('artifacts', artifacts);
      const deps: UploadDeps = {
        config: host.config,
        projectKey: host.use('settings').projectKey,
        database: host.use('database'),
        logbook: host.use('logbook'),
        audit: host.use('audit'),
        artifacts,
        points: host.points,
        log: host.log,
      };
      const facts = host.facts('tool', 'evidence_upload');
      host.contribute('tool', 'evidence_upload', { ...facts, run: (args, ctx) => uploadEvidence(args, ctx, deps) });
    },
  };
}
