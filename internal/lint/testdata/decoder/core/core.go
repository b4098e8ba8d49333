// Package core reads YAML.
package core

import "go.yaml.in/yaml/v3"
