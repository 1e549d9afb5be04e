// SPDX-License-Identifier: MIT
// One ray down onto each cell of a grid: what it hits first, and how far away that is.
#version 460
#extension GL_EXT_ray_query : require

layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform accelerationStructureEXT scene;
layout(set = 0, binding = 1, std430) buffer Result { uvec2 result[]; };
layout(push_constant) uniform Push { uint grid, mask, first; };

const float SKY = 32.0;

void main()
{
    uvec2 cell = gl_GlobalInvocationID.xy;
    vec2 place = vec2(cell) + vec2(0.25, 0.5);
    uvec2 found = uvec2(~0u, 0u);
    rayQueryEXT query;

    if (cell.x >= grid || cell.y >= grid)
        return;
    rayQueryInitializeEXT(query, scene, gl_RayFlagsNoneEXT, mask, vec3(place, SKY), 0.0, vec3(0.0, 0.0, -1.0), 64.0);
    while (rayQueryProceedEXT(query)) {
        if (rayQueryGetIntersectionTypeEXT(query, false) == gl_RayQueryCandidateIntersectionAABBEXT) {
            mat4x3 world = rayQueryGetIntersectionObjectToWorldEXT(query, false);
            vec2 local = place - world[3].xy - vec2(2.0 * rayQueryGetIntersectionPrimitiveIndexEXT(query, false), 0.0);
            if (all(greaterThan(local, vec2(0.0))) && all(lessThan(local, vec2(1.0))))
                rayQueryGenerateIntersectionEXT(query, SKY - (world[3].z + 1.0));
        } else {
            rayQueryConfirmIntersectionEXT(query);
        }
    }
    if (rayQueryGetIntersectionTypeEXT(query, true) != gl_RayQueryCommittedIntersectionNoneEXT)
        found = uvec2(rayQueryGetIntersectionInstanceCustomIndexEXT(query, true) << 16 |
                          rayQueryGetIntersectionGeometryIndexEXT(query, true) << 8 |
                          rayQueryGetIntersectionPrimitiveIndexEXT(query, true),
                      uint(rayQueryGetIntersectionTEXT(query, true) * 16.0 + 0.5));
    result[first + cell.y * grid + cell.x] = found;
}
