"""Parameters of the wide generators: data, made by scripts/search_wide.py; see `golden.wide`."""

from typing import NamedTuple


class Wide(NamedTuple):
    """Parameters of a generator of k bits, as `golden.wide` uses them.

    Attributes
    ----------
    turns : (int, int)
        a and a2, places that the state and its lower half are rotated by.
    shift, lag : int
        b and c.
    low_turns : (int, int)
        p and q.
    products : (int, int)
        d and e.
    mask : int
        m, k bits, the b lowest of them 0; also the state that an expansion begins with.
    polynomial : int
        Characteristic polynomial of a clock.
    """

    turns: tuple[int, int]
    shift: int
    lag: int
    low_turns: tuple[int, int]
    products: tuple[int, int]
    mask: int
    polynomial: int


WIDE: dict[int, Wide] = {
    64: Wide(
        turns=(47, 12),
        shift=23,
        lag=29,
        low_turns=(15, 5),
        products=(11, 5),
        mask=0x0DADA01F35800000,
        polynomial=0x1CBDE19BC92184DC9,
    ),
    128: Wide(
        turns=(97, 22),
        shift=43,
        lag=41,
        low_turns=(29, 7),
        products=(16, 15),
        mask=0xF6CC1BD891B4B738CBFDE80000000000,
        polynomial=0x1390260AF7BE23D9891675731D8CF4461,
    ),
    256: Wide(
        turns=(164, 43),
        shift=97,
        lag=89,
        low_turns=(13, 80),
        products=(9, 32),
        mask=0x035AEB2B0E4ED6BB31B136DB469573ACA1354FDE000000000000000000000000,
        polynomial=0x12597B04EBC3E97448D53FBB72FA810FCC6CBDE11FF8ED6395CD0B9C25FBC0425,
    ),
    512: Wide(
        turns=(252, 149),
        shift=151,
        lag=113,
        low_turns=(126, 110),
        products=(49, 102),
        mask=int(
            "81837D590B3B0D21B887F542F3FD083DE1111B8916AE7D7390576D834E5BB8C7"
            "8860D59E689DF9C2129B4B13F900000000000000000000000000000000000000",
            16,
        ),
        polynomial=int(
            "109B23ACB1A0F0416C10C649E4F146329F0E5B3ECBED621474F057682CBD9CB0"
            "9A9038E778B3B2D030FB9CE7AFDBA8997119376783E09798CFFA960A0FBF5FB3"
            "5",
            16,
        ),
    ),
    1024: Wide(
        turns=(532, 312),
        shift=167,
        lag=491,
        low_turns=(82, 114),
        products=(45, 164),
        mask=int(
            "47C98F74AF0FC5265BCF01EC0FE455012E14346B5D062AEFB86F4D854792203B"
            "66AC2D37A0AA41D4599C60305B5C2137C11D0B76A2B6A0EBF7214A49CE6A97AA"
            "3A97B2F0B1E0A9DE6B98BA82485C5014F161FD39D2D81EF965E8EBA747BCB52E"
            "B82BA0265A69113CFEB92A000000000000000000000000000000000000000000",
            16,
        ),
        polynomial=int(
            "1069C458CFFD82FC7DE8C45BD59605B1B71E6C1CEAC5AFC672B11F99E61DCB47"
            "20592089ED193F4C1E0DBA04C82AF9931B573E430948D61A0940CDAFB03D4E62"
            "35EA0B76B7A6FACE38B6B9A78FF12DA860F6E29BA76F9ED7D0F2CA62AF972CE6"
            "92D7BB0D90373AF017A86D7FA3C66BC216588BC8FBC31C82C3FE3C41300DB4B2"
            "9",
            16,
        ),
    ),
}
