import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';

/** The bar of a recording that goes on; the code of the recorder brings it, so that the first load does without. */
export const recordingBar = signal<ComponentType | null>(null);
