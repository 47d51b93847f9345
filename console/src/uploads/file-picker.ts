/** Also by extension: some systems do not know the media types of voice notes. */
const ACCEPTED = 'audio/*,video/webm,.webm,.ogg,.oga,.opus,.mp3,.wav,.m4a,.mp4,.aac,.flac,.amr,.3gp';

/** Opens the browser's dialog for files. @returns none when it was cancelled */
export function chooseFiles(): Promise<File[]> {
  return new Promise((resolve) => {
    const input = document.createElement('input');
    Object.assign(input, { type: 'file', multiple: true, accept: ACCEPTED, hidden: true });
    const finish = () => {
      input.remove();
      resolve([...(input.files ?? [])]);
    };
    input.addEventListener('change', finish, { once: true });
    input.addEventListener('cancel', finish, { once: true });
    // Safari tells nothing of an input outside the document.
    document.body.append(input);
    input.click();
  });
}
