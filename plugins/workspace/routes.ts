import { type Database, type Logger, listPage, type Route } from 'mortise/sdk';
import { workspaceError } from './errors.js';
import type { Parts } from './parts.js';
import type { TextFiles } from './text-files.js';
import { exportWorkspace, importWorkspace } from './transfer.js';
import { maxUploadBytes, readUpload, type Uploads } from './uploads.js';
import { checkRight, type Workspace } from './workspace.js';

export interface RouteDeps {
  readonly workspace: Workspace;
  readonly uploads: Uploads;
  readonly parts: Parts;
  readonly texts: TextFiles;
  readonly database: Database;
  readonly log: Logger;
}

/** The routes by their names in the manifest. */
export function workspaceRoutes(deps: RouteDeps): Readonly<Record<string, Route>> {
  const { workspace, uploads } = deps;
  return {
    'list-workspace-files': {
      async handle({ query }, ctx) {
        const asked = { limit: query.get('limit'), cursor: query.get('cursor') };
        return { body: { files: listPage(await workspace.list(ctx), ({ path }) => path, asked, ctx) } };
      },
    },
    'read-workspace-file': {
      handle: async ({ params, query }, ctx) => ({
        body: await workspace.read(params.file_path ?? '', query.get('reveal') === 'true', ctx),
      }),
    },
    'write-workspace-file': {
      async handle({ params, body }, ctx) {
        await workspace.write(params.file_path ?? '', body, ctx);
        return { body: { updated: true } };
      },
    },
    'delete-workspace-file': {
      handle: async ({ params }, ctx) => ({ body: { deleted: await workspace.remove(params.file_path ?? '', ctx) } }),
    },
    'upload-workspace-file': {
      async handle({ rawBody, headers }) {
        const { name, bytes } = await readUpload(rawBody, headers['content-type']);
        // The body has room for the framing too.
        if (bytes.length > maxUploadBytes)
          throw workspaceError('payload_too_large', { details: { max_bytes: maxUploadBytes } });
        return { body: { uploaded: true, ...(await uploads.store(name, bytes)) } };
      },
    },
    'export-workspace': {
      async handle({ query }, ctx) {
        checkRight(ctx);
        const isRevealed = query.get('reveal') === 'true';
        if (isRevealed) await workspace.checkReveal('export', ctx);
        return { body: await exportWorkspace(deps, isRevealed, ctx) };
      },
    },
    'import-workspace': {
      async handle({ body }, ctx) {
        await importWorkspace(deps, body, ctx);
        return { body: { imported: true } };
      },
    },
  };
}
