import { camel, firstLine, pascal } from './model.mjs';

/** Two files that need Jackson and Java 17 or later. */
export function javaClient({ types, operations }) {
  const queries = operations
    .filter(({ query, headers, form }) => query.length + headers.length + (form?.length ?? 0) > 0)
    .map(optionsOf);
  const unions = types.filter(({ members }) => members);
  return {
    'voicenotes/Types.java': `${TYPES_HEAD}${[...types, ...queries].map((type) => typeText(type, unions, types)).join('\n')}}\n`,
    'voicenotes/Client.java': `${CLIENT}${operations.map((operation) => methodText(operation)).join('\n')}}\n`,
  };
}

const TYPES_HEAD = `// Generated from openapi.json.
package voicenotes;

import com.fasterxml.jackson.annotation.*;
import java.util.*;

/** What the service takes and answers. Fields that are absent or null are null. */
public final class Types {
    private Types() {}

`;

const CLIENT = `// Generated from openapi.json.
package voicenotes;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.*;
import java.io.*;
import java.net.*;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import voicenotes.Types.*;

/** Client of the Voice Note Transcription Service. */
public final class Client {
    /** An answer that is no success. */
    public static final class ApiException extends IOException {
        public final int status;
        public final String body;

        ApiException(int status, String body) {
            super(status + " " + body);
            this.status = status;
            this.body = body;
        }
    }

    /** Reads bodies of webhooks, too. */
    public static final ObjectMapper JSON = new ObjectMapper()
            .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false)
            .setSerializationInclusion(JsonInclude.Include.NON_NULL);

    private final HttpClient http = HttpClient.newHttpClient();
    private final String base, key, secret;

    public Client(String baseUrl, String key, String secret) {
        this.base = baseUrl;
        this.key = key;
        this.secret = secret;
    }

    private static String encoded(Object value) {
        return URLEncoder.encode(value.toString(), StandardCharsets.UTF_8).replace("+", "%20");
    }

    private static Map<String, Object> given(Object options) {
        return options == null ? Map.of() : JSON.convertValue(options, new TypeReference<Map<String, Object>>() {});
    }

    private InputStream open(String method, String path, Object options, Set<String> query, Set<String> headers,
            String type, byte[] body) throws IOException, InterruptedException {
        StringJoiner text = new StringJoiner("&", "?", "").setEmptyValue("");
        var request = HttpRequest.newBuilder().header("X-Service-API-Key", key).header("X-Service-API-Secret", secret);
        given(options).forEach((name, value) -> {
            if (query.contains(name)) {
                for (Object one : value instanceof List<?> list ? list : List.of(value)) text.add(name + "=" + encoded(one));
            }
            if (headers.contains(name)) request.header(name, value.toString());
        });
        if (type != null) request.header("Content-Type", type);
        request.uri(URI.create(base + path + text)).method(method,
                body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofByteArray(body));
        var response = http.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        if (response.statusCode() < 300) return response.body();
        throw new ApiException(response.statusCode(), new String(response.body().readAllBytes(), StandardCharsets.UTF_8));
    }

    private static byte[] form(String boundary, Object options, Set<String> fields, String filename, byte[] file)
            throws IOException {
        var body = new ByteArrayOutputStream();
        for (var field : given(options).entrySet()) {
            if (!fields.contains(field.getKey())) continue;
            for (Object value : field.getValue() instanceof List<?> list ? list : List.of(field.getValue())) {
                body.write(("--" + boundary + "\\r\\nContent-Disposition: form-data; name=\\"" + field.getKey() + "\\"\\r\\n\\r\\n"
                        + value + "\\r\\n").getBytes(StandardCharsets.UTF_8));
            }
        }
        body.write(("--" + boundary + "\\r\\nContent-Disposition: form-data; name=\\"file\\"; filename=\\""
                + filename.replace("\\"", "%22") + "\\"\\r\\n\\r\\n").getBytes(StandardCharsets.UTF_8));
        body.write(file);
        body.write(("\\r\\n--" + boundary + "--\\r\\n").getBytes(StandardCharsets.UTF_8));
        return body.toByteArray();
    }

`;

/** Everything but what a path, a file or JSON has. */
const optionsOf = ({ name, query, headers, form }) => ({
  name: pascal(name, 'options'),
  description: 'Null stands for what is not sent.',
  fields: [...query, ...headers, ...(form ?? []).filter(({ type }) => type.kind !== 'bytes')],
});

function typeText(type, unions, types) {
  const doc = `    /** ${docText(type.description) || 'See docs/interface.md.'} */\n`;
  if (type.members) return doc + unionText(type);
  if (type.alias) return '';
  const implemented = unions.filter(({ members }) => [...members.values()].includes(type.name)).map(({ name }) => name);
  const fields = type.fields.map(
    ({ name, type: inner }) => `            @JsonProperty("${name}") ${typeOf(inner, types)} ${fieldName(name)}`,
  );
  return `${doc}    public record ${type.name}(\n${fields.join(',\n')})${implemented.length > 0 ? ` implements ${implemented.join(', ')}` : ''} {}\n`;
}

function unionText({ name, tag, members }) {
  const subtypes = [...members].map(
    ([value, member]) => `        @JsonSubTypes.Type(name = "${value}", value = ${member}.class)`,
  );
  return `    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, include = JsonTypeInfo.As.EXISTING_PROPERTY, property = "${tag}", visible = true)
    @JsonSubTypes({
${subtypes.join(',\n')}})
    public interface ${name} {
        String ${fieldName(tag)}();
    }
`;
}

const docText = (text) => firstLine(text).replaceAll('*/', '').replaceAll('<', '&lt;');
const WORDS = new Set([
  'class',
  'default',
  'package',
  'import',
  'public',
  'private',
  'new',
  'switch',
  'wait',
  'notify',
]);
const fieldName = (name) => (WORDS.has(camel(name)) ? `${camel(name)}_` : camel(name));

const PLAIN = {
  string: 'String',
  integer: 'Long',
  number: 'Double',
  boolean: 'Boolean',
  bytes: 'byte[]',
  any: 'Object',
};

function typeOf({ kind, of, name }, types = []) {
  if (kind === 'list') return `List<${typeOf(of, types)}>`;
  if (kind === 'map') return `Map<String, ${typeOf(of, types)}>`;
  const alias = types.find((type) => type.name === name)?.alias;
  return alias ? typeOf(alias, types) : kind === 'ref' ? name : PLAIN[kind];
}

function methodText({ name, method, path, summary, pathFields, query, headers, form, body, answer }) {
  const texts = (form ?? []).filter(({ type }) => type.kind !== 'bytes');
  const takesOptions = query.length + headers.length + texts.length > 0;
  const parameters = [
    ...pathFields.map((field) => `String ${fieldName(field.name)}`),
    ...(form ? ['String filename', 'byte[] file'] : []),
    ...(body ? [`${typeOf(body)} body`] : []),
    ...(takesOptions ? [`${pascal(name, 'options')} options`] : []),
  ];
  const url = path.replaceAll(/\{(\w+)\}/g, (_, field) => `" + encoded(${fieldName(field)}) + "`);
  const names = (fields) => `Set.of(${fields.map((field) => JSON.stringify(field.name)).join(', ')})`;
  const boundary = form ? '        var boundary = UUID.randomUUID().toString();\n' : '';
  const data = body
    ? '"application/json", JSON.writeValueAsBytes(body)'
    : form
      ? `"multipart/form-data; boundary=" + boundary, form(boundary, options, ${names(texts)}, filename, file)`
      : 'null, null';
  const call =
    `open("${method}", "${url}", ${takesOptions ? 'options' : 'null'}, ${names(query)}, ${names(headers)}, ${data})`.replaceAll(
      ' + ""',
      '',
    );
  const [returned, statement] =
    answer === 'bytes'
      ? ['InputStream', `return ${call};`]
      : answer === 'none'
        ? ['void', `${call}.close();`]
        : [
            typeOf(answer),
            `try (var answer = ${call}) {\n            return JSON.readValue(answer, new TypeReference<${typeOf(answer)}>() {});\n        }`,
          ];
  return `    /** ${docText(summary)}. */
    public ${returned} ${fieldName(name)}(${parameters.join(', ')}) throws IOException, InterruptedException {
${boundary}        ${statement}
    }
`;
}
