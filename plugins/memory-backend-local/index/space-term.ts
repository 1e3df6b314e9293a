import { hash } from 'node:crypto';

/**
 * The search engines' term that stands for a space, so that they filter by it themselves. No analysed term has its form:
 * terms begin with a letter or digit.
 */
export function spaceTerm(space: string): string {
  return `_s_${hash('sha256', space, 'hex').slice(0, 20)}`;
}
