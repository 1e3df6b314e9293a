import { findArtifact, getArtifact } from './artifacts/get.js';
import { putArtifact } from './artifacts/put.js';
import { readEvidence } from './evidence-read.js';
import { addEvent } from './items/add-event.js';
import { attach } from './items/attach.js';
import { createItem } from './items/create-item.js';
import { getValue, setValue } from './items/key-values.js';
import { listAttachments, queryEvents, queryItems } from './items/queries.js';
import { materialisePatch } from './patches/materialise.js';
import { resolvePatch } from './patches/resolve.js';
import type { ToolCode } from './tool-code.js';

/** The tools by name; their facts are in `tools/`. */
export const tools: Readonly<Record<string, ToolCode>> = {
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
