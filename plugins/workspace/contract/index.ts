import type { CallContext } from 'mortise/sdk';

/** The service `workspace`: everything that people have configured as one document. */
export interface WorkspaceService {
  /**
   * Replaces the sections that `body.payload` has, all of them or none; the body of `POST /workspace/import`.
   * @throws MortiseError `invalid_import_mode`, `invalid_import_version`, `invalid_json`, and what the owner of a section refuses
   */
  import(body: unknown, ctx: CallContext): Promise<void>;
}

declare module 'mortise/sdk' {
  interface Services {
    workspace: WorkspaceService;
  }
}
