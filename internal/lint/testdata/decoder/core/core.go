// Package core is the one that reads YAML.
package core

import "go.yaml.in/yaml/v3"
