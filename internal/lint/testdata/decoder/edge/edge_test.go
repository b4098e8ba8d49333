package edge

import "sigs.k8s.io/yaml"
