//! OpenAPI documents.

use super::server::Arrived;
use super::{Run, says};

/// As the documents that frameworks write: references to references, parameters of a path, several media
/// types.
const PETSTORE: &str = r##"openapi: 3.0.3
info: {title: Petstore, version: 1.0.0}
servers:
  - url: "http://{host}/api/v3"
    variables:
      host: {default: SERVER}
  - url: https://other.example/
tags: &tags [pets]
paths:
  /pets:
    get:
      operationId: listPets
      tags: *tags
      parameters:
        - {name: limit, in: query, required: true, schema: {type: integer, default: 20, maximum: 100}}
        - name: tag
          in: query
          required: true
          schema: {type: array, items: {type: string}}
          example: [a b, c]
        - $ref: '#/components/parameters/Trace'
        - {name: offset, in: query, schema: {type: integer}}
      responses:
        '200':
          description: pets
          content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}
    post:
      operationId: createPet
      security: [{token: []}]
      requestBody:
        required: true
        content:
          application/xml: {schema: {$ref: '#/components/schemas/Pet'}}
          application/json: {schema: {$ref: '#/components/schemas/Pet'}}
      responses: {'201': {description: made}}
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: string}, example: k/9}
    get:
      responses: {'200': {description: one}}
    delete:
      operationId: deletePet
      responses: {'204': {description: gone}}
  /pets/{petId}/photo/{size}:
    get:
      parameters:
        - {name: petId, in: path, required: true, schema: {type: integer, enum: [7, 8]}}
        - {name: size, in: path, required: true, schema: {type: string}}
      responses: {'200': {description: unknown}}
  /orders:
    post:
      operationId: order
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, required: [count], properties: {count: {type: integer, example: 2}, note: {type: string, example: "a & b"}}}
      responses: {'200': {description: done}}
components:
  parameters:
    Trace: {name: X-Trace, in: header, required: true, schema: {type: string, enum: [full, none]}}
  securitySchemes:
    token: {type: http, scheme: bearer}
  schemas:
    Pet:
      allOf:
        - $ref: '#/components/schemas/Named'
        - type: object
          required: [kind]
          properties:
            id: {type: integer, readOnly: true, example: 1}
            kind: {$ref: '#/components/schemas/Kind'}
            parent: {$ref: '#/components/schemas/Pet'}
    Named: {type: object, required: [name], properties: {name: {type: string, example: Rex}}}
    Kind: {type: string, enum: [dog, cat]}
"##;

const READS: [&str; 2] = ["GET /api/v3/pets?limit=20&tag=a%20b&tag=c", "GET /api/v3/pets/k%2F9"];

#[test]
fn reads_of_a_petstore_are_asked_for() {
    let run = Run::new();
    let (ended, lines) = run.lines("petstore.yaml", PETSTORE, &[]);
    assert_eq!(lines, READS);
    says(
        &ended,
        &[
            "2 of 6 entries taken",
            "3 of another method than GET, which may change what is stored",
            "1 with a required parameter that has no example (first: GET /pets/{petId}/photo/{size}, `size`)",
            "the first of 2 servers is asked",
            "optional parameter",
        ],
    );
    let arrived: Vec<Arrived> = run.run("--sessions 1 -c 1");
    assert_eq!((arrived[0].field("x-trace"), arrived[0].field("accept")), ("full", "application/json"));
}

#[test]
fn other_methods_are_asked_for_on_request() {
    let run = Run::new();
    let more = ["--all-methods", "--value", "token=GEHEIM", "--value", "size=xl", "--value", "offset=40"];
    let (ended, lines) = run.lines("petstore.yaml", PETSTORE, &more);
    assert_eq!(
        lines,
        [
            "GET /api/v3/pets?limit=20&tag=a%20b&tag=c&offset=40",
            "POST /api/v3/pets {\"name\":\"Rex\",\"kind\":\"dog\"}",
            READS[1],
            "DELETE /api/v3/pets/k%2F9",
            "GET /api/v3/pets/7/photo/xl",
            "POST /api/v3/orders count=2&note=a+%26+b",
        ]
    );
    assert!(
        ended.stderr.contains("6 of 6 entries taken") && !ended.stderr.contains("GEHEIM"),
        "{}",
        ended.stderr
    );
    let arrived = run.run("--sessions 1 -c 1");
    assert_eq!(
        (arrived[1].field("authorization"), arrived[1].field("content-type")),
        ("Bearer GEHEIM", "application/json")
    );
    assert_eq!(arrived[5].field("content-type"), "application/x-www-form-urlencoded");
    // A secret that is in the environment is in no file.
    run.import(&["petstore.yaml", "--all-methods", "--value", "token=${env.API_TOKEN}"]).exits(0);
    assert!(run.scenario().contains("Bearer ${env.API_TOKEN}"), "{}", run.scenario());
}

#[test]
fn version_two_is_read() {
    let run = Run::new();
    let text = r##"{"swagger": "2.0", "info": {"title": "x", "version": "1"}, "host": "SERVER", "basePath": "/v2", "schemes": ["http"],
        "consumes": ["application/json"], "produces": ["application/json"],
        "securityDefinitions": {"key": {"type": "apiKey", "name": "X-Key", "in": "header"}}, "security": [{"key": []}],
        "paths": {
          "/find": {"get": {"parameters": [{"name": "status", "in": "query", "required": true, "type": "array",
            "items": {"type": "string", "enum": ["open"]}, "default": ["open", "done"], "collectionFormat": "multi"}]}},
          "/thing/{id}": {"get": {"parameters": [{"$ref": "#/parameters/Id"}]},
            "put": {"parameters": [{"$ref": "#/parameters/Id"}, {"name": "body", "in": "body", "schema": {"$ref": "#/definitions/Thing"}}]}},
          "/none": {"get": {"parameters": [{"name": "q", "in": "query", "required": true, "type": "string"}]}}},
        "parameters": {"Id": {"name": "id", "in": "path", "required": true, "type": "integer", "x-example": 5}},
        "definitions": {"Thing": {"type": "object", "required": ["n"], "properties": {"n": {"type": "number", "example": 1.5}, "free": {"type": "string"}}}}}"##;
    let (ended, lines) = run.lines("swagger.json", text, &["--all-methods"]);
    assert_eq!(
        lines,
        ["GET /v2/find?status=open&status=done", "GET /v2/thing/5", "PUT /v2/thing/5 {\"n\":1.5}"]
    );
    says(
        &ended,
        &[
            "3 of 4 entries taken",
            "has no example (first: GET /none, `q`)",
            "without the credentials that it asks for",
        ],
    );
    run.import(&["swagger.json", "--value", "key=k 1"]).exits(0);
    assert_eq!(run.run("--sessions 1 -c 1")[0].field("x-key"), "k 1");
}
