import type { PluginDefinition } from 'mortise/sdk';
import { findArtifact, getArtifact, putArtifact, readEvidence } from './artifacts.js';
import { addEvent, attach, createItem, getValue, listAttachments, queryEvents, queryItems, setValue } from './items.js';
import { materialisePatch, resolvePatch } from './patches.js';
import { runTool, type ToolCode, type ToolDeps } from './run-tool.js';

/** The tools by name. Their facts are in `tools/`. */
const tools: Readonly<Record<string, ToolCode>> = {
  evidence_read: readEvidence,
  artifacts_put: putArtifact,
  artifacts_get: getArtifact,
  artifacts_exists: findArtifact,
  logbook_create_item: createItem,
  logbook_add_event: addEvent,
  logbook_attach: attach,
  logbook_set_kv: setValue,
  logbook_get_kv: getValue,
  logbook_query_items: queryItems,
  logbook_query_events: queryEvents,
  logbook_list_attachments: listAttachments,
  scm_patch_blob_resolve: resolvePatch,
  scm_materialize_patch_blob: materialisePatch,
};

/** Tools over the logbook, the artifact store and stored patches. */
export default function logbookTools(): PluginDefinition {
  return {
    key: 'logbook-tools',
    start(host) {
      const deps: ToolDeps = {
        database: host.use('database'),
        logbook: host.use('logbook'),
        audit: host.use('audit'),
        artifacts: host.use('artifacts'),
      };
      for (const [name, code] of Object.entries(tools)) {
        const facts = host.facts('tool', name);
        host.contribute('tool', name, { ...facts, run: (args, ctx) => runTool({ name, args, ctx, deps }, code) });
      }
    },
  };
}
