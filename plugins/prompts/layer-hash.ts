import { createHash } from 'node:crypto';
import type { PromptLayer } from 'mortise/sdk';

/** Hex SHA-256 of a layer's content with normalised line ends and trimmed; empty for empty content. */
export function layerHash(content: string): string {
  const text = normalised(content);
  return text === '' ? '' : sha256(text);
}

/** Identifies a whole prompt: the hash of canonical JSON over its mode and the hashes of its layers. */
export function promptHash(variant: string, collaborationMode: string, layers: readonly PromptLayer[]): string {
  // Members in alphabetical order, without white space.
  return sha256(
    JSON.stringify({
      collaboration_mode: collaborationMode,
      layers: layers.map(({ name, role, source, content }) => ({
        content_hash: layerHash(content),
        name,
        role,
        source,
      })),
      mode_variant: variant,
    }),
  );
}

/**
 * Drops layers with the same text, apart from the heading. Of equal texts the one with the higher priority stays, at the
 * position of the first.
 */
export function withoutDuplicates(
  layers: readonly PromptLayer[],
  priority: (layer: PromptLayer) => number,
): readonly PromptLayer[] {
  const byText = new Map<string, PromptLayer>();
  for (const layer of layers) {
    const key = layerHash(normalised(layer.content).replace(/^## [^\n]*\n?/, ''));
    const first = byText.get(key);
    if (!first || priority(layer) > priority(first)) byText.set(key, layer);
  }
  return [...byText.values()];
}

function normalised(content: string): string {
  return content.replaceAll(/\r\n?/g, '\n').trim();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
