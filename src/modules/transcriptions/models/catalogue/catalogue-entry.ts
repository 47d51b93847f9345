/** A model that can be downloaded: in the list that ships with the service, or in one of the operator's own. */
export interface CatalogueEntry {
  /** What `pull` and `use` take, and the name of its folder. */
  name: string;
  title: string;
  /** As the folder's files will tell it, for the list. */
  kind: string;
  /** Codes of languages; `any` for a model of hundreds. */
  languages: readonly string[] | 'any';
  /** Null: not confirmed, see the repository. */
  licence: Licence | null;
  speed: SpeedClass;
  /** Size of all files; null when no source states it. The exact size is read when the model is pulled. */
  approximateBytes: number | null;
  /** `owner/name` at the source. */
  repository: string;
  /** A commit, branch or tag. A branch is resolved to its commit when the model is pulled, and that is recorded. */
  revision: string;
  /** Paths in the repository. The files lie side by side in the model's folder. */
  files: readonly string[];
}

export interface Licence {
  name: string;
  /** Address of the text, or of the page that states it. */
  source: string;
}

/**
 * An estimate from size and design, not a measurement. A model that writes a text in one pass (CTC, transducer,
 * Paraformer, SenseVoice) is faster than one of the same size that writes it token by token (Whisper, Moonshine, Canary).
 */
export type SpeedClass = 'fast' | 'medium' | 'slow';

export const SPEED_CLASSES: readonly SpeedClass[] = ['fast', 'medium', 'slow'];

/** A name is a folder's: no separators, nothing hidden, and the same on file systems that ignore case. */
export const MODEL_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** What `MODEL_NAME` means, for messages. */
export const MODEL_NAME_RULE =
  '1 to 64 lower-case letters, digits, dots, hyphens and underscores, first a letter or digit';
