// Package edge reads documents.
package edge

import (
	"encoding/json"

	"example.com/serializer"
	other "go.yaml.in/yaml/v3"
	"gopkg.in/yaml.v2"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml/goyaml.v2"
)

func read(text []byte, into any) error { return json.Unmarshal(text, into) }

func readAny(f serializer.Factory, text []byte) any { return f.UniversalDeserializer().Decode(text) }

var reader = serializer.NewYAMLOrJSONDecoder
