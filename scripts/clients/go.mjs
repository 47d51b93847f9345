import { firstLine, pascal } from './model.mjs';

/** A module of the standard library alone, for Go 1.19 and later. */
export function goClient({ types, operations }) {
  const queries = operations.filter(({ query, headers }) => query.length + headers.length > 0).map(optionsOf);
  return {
    'go.mod': 'module voicenotes\n\ngo 1.19\n',
    'types.go': [TYPES_HEAD, ...[...types, ...queries].map(typeText)].join('\n'),
    'client.go': [CLIENT, ...operations.map(methodText)].join('\n'),
  };
}

const TYPES_HEAD = `// Package voicenotes is a client of the Voice Note Transcription Service, generated from openapi.json.
package voicenotes

import "encoding/json"
`;

const CLIENT = `package voicenotes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
)

// Client calls the service at BaseURL with the two halves of an API key.
type Client struct {
	BaseURL, Key, Secret string
	// HTTP is http.DefaultClient if nil.
	HTTP *http.Client
}

// APIError is an answer that is no success.
type APIError struct {
	Status int
	Body   []byte
}

func (e *APIError) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Body) }

// Text points to a copy of its argument, for optional fields.
func Text[T any](value T) *T { return &value }

func set(values map[string][]string, name string, value any) {
	switch given := value.(type) {
	case *string:
		if given != nil {
			values[name] = []string{*given}
		}
	case *int64:
		if given != nil {
			values[name] = []string{fmt.Sprint(*given)}
		}
	case *float64:
		if given != nil {
			values[name] = []string{fmt.Sprint(*given)}
		}
	case *bool:
		if given != nil {
			values[name] = []string{fmt.Sprint(*given)}
		}
	case []string:
		if len(given) > 0 {
			values[name] = given
		}
	default:
		values[name] = []string{fmt.Sprint(given)}
	}
}

func (c *Client) open(ctx context.Context, method, path string, query url.Values, header http.Header, body io.Reader) (io.ReadCloser, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, body)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	request.Header.Set("X-Service-API-Key", c.Key)
	request.Header.Set("X-Service-API-Secret", c.Secret)
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 300 {
		return response.Body, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return nil, &APIError{response.StatusCode, text}
}

func (c *Client) call(ctx context.Context, method, path string, query url.Values, header http.Header, body io.Reader, answer any) error {
	response, err := c.open(ctx, method, path, query, header, body)
	if err != nil {
		return err
	}
	defer response.Close()
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response).Decode(answer)
}

func jsonBody(header http.Header, value any) (io.Reader, error) {
	text, err := json.Marshal(value)
	header.Set("Content-Type", "application/json")
	return bytes.NewReader(text), err
}

func formBody(header http.Header, fields url.Values, filename string, file []byte) (io.Reader, error) {
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	for name, values := range fields {
		for _, value := range values {
			if err := writer.WriteField(name, value); err != nil {
				return nil, err
			}
		}
	}
	part, err := writer.CreateFormFile("file", filename)
	if err != nil {
		return nil, err
	}
	if _, err := part.Write(file); err != nil {
		return nil, err
	}
	header.Set("Content-Type", writer.FormDataContentType())
	return &body, writer.Close()
}
`;

const optionsOf = ({ name, query, headers }) => ({
  name: pascal(name, 'options'),
  description: `What ${pascal(name)} takes.`,
  fields: [...query, ...headers],
});

function typeText(type) {
  const doc = `// ${type.name}: ${firstLine(type.description) || 'see docs/interface.md.'}\n`;
  if (type.members) return doc + unionText(type);
  if (type.alias) return `${doc}type ${type.name} = ${typeOf(type.alias)}\n`;
  const fields = type.fields.map(({ name, type: inner, isRequired, description }) => {
    const tag = `\`json:"${name}${isRequired ? '' : ',omitempty'}"\``;
    const comment = description ? `\t// ${firstLine(description)}\n` : '';
    return `${comment}\t${pascal(name)} ${typeOf({ ...inner, isNull: inner.isNull || !isRequired })} ${tag}`;
  });
  return `${doc}type ${type.name} struct {\n${fields.join('\n')}\n}\n`;
}

/** The JSON, with a method for each type that it can have. */
function unionText({ name, tag, members }) {
  const methods = [...members].map(
    ([value, member]) => `// As${member} reads a body of the kind ${value}.
func (v ${name}) As${member}() (body ${member}, err error) {
	err = json.Unmarshal(v.raw, &body)
	return
}
`,
  );
  return `type ${name} struct {
	${pascal(tag)} string
	raw   json.RawMessage
}

func (v *${name}) UnmarshalJSON(text []byte) error {
	var head struct {
		Tag string \`json:"${tag}"\`
	}
	err := json.Unmarshal(text, &head)
	v.${pascal(tag)}, v.raw = head.Tag, append(json.RawMessage(nil), text...)
	return err
}

func (v ${name}) MarshalJSON() ([]byte, error) { return v.raw.MarshalJSON() }

${methods.join('\n')}`;
}

const PLAIN = { string: 'string', integer: 'int64', number: 'float64', boolean: 'bool', bytes: '[]byte', any: 'any' };

function typeOf({ kind, isNull, of, name }) {
  if (kind === 'list') return `[]${typeOf(of)}`;
  if (kind === 'map') return `map[string]${typeOf(of)}`;
  const inner = kind === 'ref' ? name : PLAIN[kind];
  return isNull && kind !== 'any' && kind !== 'bytes' ? `*${inner}` : inner;
}

function methodText(operation) {
  const { name, method, path, summary, pathFields, query, headers, form, body, answer } = operation;
  const takesOptions = query.length + headers.length > 0;
  const texts = (form ?? []).filter(({ type }) => type.kind !== 'bytes');
  const parameters = [
    'ctx context.Context',
    ...pathFields.map((field) => `${argument(field)} string`),
    ...(form ? ['filename string', 'file []byte', `fields url.Values`] : []),
    ...(body ? [`body ${typeOf(body)}`] : []),
    ...(takesOptions ? [`options *${pascal(name, 'options')}`] : []),
  ];
  const url = path
    .split(/\{\w+\}/)
    .map((part) => JSON.stringify(part))
    .flatMap((part, index) => (index === 0 ? [part] : [`url.PathEscape(${argument(pathFields[index - 1])})`, part]))
    .filter((part) => part !== '""')
    .join(' + ');
  const read = (fields, target) =>
    fields.map((field) => `\t\tset(${target}, ${JSON.stringify(field.name)}, options.${pascal(field.name)})`);
  const options = takesOptions
    ? `\tif options != nil {\n${[...read(query, 'query'), ...read(headers, 'header')].join('\n')}\n\t}\n`
    : '';
  const data = body ? 'jsonBody(header, body)' : form ? 'formBody(header, fields, filename, file)' : null;
  const failed = answer === 'none' ? 'err' : answer === 'bytes' ? 'nil, err' : 'nil, err';
  const send = data ? `\tdata, err := ${data}\n\tif err != nil {\n\t\treturn ${failed}\n\t}\n` : '';
  const call = `ctx, "${method}", ${url}, query, header, ${data ? 'data' : 'nil'}`;
  const [returned, end] =
    answer === 'bytes'
      ? ['(io.ReadCloser, error)', `\treturn c.open(${call})`]
      : answer === 'none'
        ? ['error', `\treturn c.call(${call}, nil)`]
        : [
            `(*${typeOf(answer)}, error)`,
            `\tanswer := new(${typeOf(answer)})\n\treturn answer, c.call(${call}, answer)`,
          ];
  const taken = texts.length > 0 ? `\n// Fields: ${texts.map((field) => field.name).join(', ')}.` : '';
  return `// ${pascal(name)}: ${firstLine(summary)}.${taken}
func (c *Client) ${pascal(name)}(${parameters.join(', ')}) ${returned} {
	query, header := url.Values{}, http.Header{}
${options}${send}${end}
}
`;
}

const argument = ({ name }) => pascal(name).charAt(0).toLowerCase() + pascal(name).slice(1);
