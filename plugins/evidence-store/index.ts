import type { PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { openArtifacts } from './open-artifacts.js';
import type { EvidenceParts } from './parts.js';
import { unknownArguments, withUnknown } from './upload/unknown-arguments.js';
import { uploadEvidence } from './upload/upload-evidence.js';

/** The service `artifacts` and the tool `evidence_upload`. */
export default function evidenceStore(): PluginDefinition<Config> {
  return {
    key: 'evidence-store',
    register() {},
    start(host) {
      const artifacts = openArtifacts(host);
      host.provide('artifacts', artifacts);
      const parts: EvidenceParts = {
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
      host.contribute('tool', 'evidence_upload', {
        ...facts,
        run: async (args, ctx) => withUnknown(await uploadEvidence(args, ctx, parts), unknownArguments(args)),
      });
    },
  };
}
